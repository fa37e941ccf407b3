import { posix } from 'node:path';
import { fail, messageOf } from '../../core/errors';
import {
  type BeforeImages,
  type Compared,
  contentFor,
  isAsBefore,
  lookAtEach,
  type ParentImages,
} from './before-images';
import type { HostFiles } from './files';
import type { BeforeImage, ParentImage } from './journal-log';
import { hostPathOf } from './journal-failure';
import { PathFailures } from './path-failures';
import { type FilePart, type PathChange, ROOT_OWNER } from './path-state';

type Images = readonly (readonly [string, BeforeImage])[];

interface Undo {
  readonly files: HostFiles;
  readonly packPath: string;
  readonly parents: ParentImages;
  /** Makes one change at a time, to need little space. */
  readonly oneByOne: boolean;
  readonly failures: PathFailures;
  /** Directories that are known to exist. */
  readonly present: Set<string>;
}

/**
 * Puts before-images back. First it removes new paths, newest first, which frees space. A failure
 * of one path does not stop the others. Safe to repeat.
 *
 * @param options - `oneByOne`: makes one change at a time, to need little space
 * @returns whether anything differed
 * @throws an error naming the paths, when all others are restored; at once on a full disk, unless
 *   `oneByOne`; before any change, when a before-image is damaged
 */
export async function putBack(
  files: HostFiles,
  packPath: string,
  { images, parents }: { readonly images: BeforeImages; readonly parents: ParentImages },
  { oneByOne = false }: { readonly oneByOne?: boolean } = {},
): Promise<boolean> {
  const failures = new PathFailures({ endsWhenFull: !oneByOne });
  const undo: Undo = { files, packPath, parents, oneByOne, failures, present: new Set() };
  const newestFirst = [...images].reverse();
  await refuseDamaged(files, packPath, newestFirst);
  const paths = withParents(newestFirst);
  for (const path of paths) await failures.during(path, () => files.sweep(path));
  const removed = await removeAll(undo, newestFirst);
  const restored = await restoreAll(undo, newestFirst);
  // Changes of an earlier attempt may not be durable.
  await files.syncDirectories(new Set([...paths].map((path) => posix.dirname(path))));
  failures.throwIfAny();
  return removed + restored > 0;
}

/** A crash may have left temporary names beside the parents, too. */
function withParents(images: Images): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const [path] of images) {
    for (let at = path; at !== '/' && !paths.has(at); at = posix.dirname(at)) paths.add(at);
  }
  return paths;
}

/** A partial undo is worse than none. */
async function refuseDamaged(files: HostFiles, packPath: string, images: Images): Promise<void> {
  for (const [path, image] of images) {
    if (image.kind !== 'file' || !('packed' in image)) continue;
    const part = { path: packPath, ...image.packed };
    const fault = await faultOf(files, part);
    if (fault === undefined) continue;
    const why = `the before-image of ${path} in ${packPath} ${fault}; nothing was changed`;
    throw fail('RollbackFailed', why, { path, damaged: true });
  }
}

async function faultOf(files: HostFiles, part: FilePart): Promise<string | undefined> {
  try {
    return (await files.isWhole(part)) ? undefined : 'is damaged';
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`;
  }
}

/** Returns the number of removed paths. */
async function removeAll(undo: Undo, images: Images): Promise<number> {
  const { files, failures } = undo;
  const directories: string[] = [];
  const others: PathChange[] = [];
  for (const [path, image] of images) {
    if (image.kind !== 'absent') continue;
    await failures.during(path, async () => {
      const { kind } = await files.facts(path);
      if (kind === 'directory') directories.push(path);
      else if (kind !== 'absent') others.push({ path, state: { kind: 'absent' } });
    });
  }
  await changeWhatGoes(undo, others);
  for (const path of directories) await failures.during(path, () => files.removeDirectory(path));
  return others.length + directories.length;
}

async function restoreAll(undo: Undo, images: Images): Promise<number> {
  const { files, failures, oneByOne } = undo;
  const paths = images.map(([path]) => path);
  const now = await lookAtEach(files, paths, (path, error) => failures.note(path, error));
  const changes: PathChange[] = [];
  // Directories come before their entries.
  for (const [path, image] of directoriesFirst(images)) {
    const found = now.get(path);
    // It is among the failures.
    if (found === undefined) continue;
    const at = { path, image, ...found };
    await failures.during(path, async () => {
      const change = await restoring(undo, at);
      if (change !== undefined) changes.push(change);
    });
  }
  if (!oneByOne) await changeWhatGoes(undo, changes);
  else await changeEach(undo, changes);
  return changes.length;
}

function directoriesFirst(images: Images): Images {
  const isDirectory = ([, { kind }]: Images[number]): boolean => kind === 'directory';
  return [
    ...images.filter(isDirectory).sort(([a], [b]) => (a < b ? -1 : 1)),
    ...images.filter((entry) => !isDirectory(entry)),
  ];
}

/** Undefined when the path is right. Removes empty directories in its place. */
async function restoring(undo: Undo, at: Compared): Promise<PathChange | undefined> {
  const { files, packPath } = undo;
  const { path, image, facts } = at;
  if (image.kind === 'absent' || (await isAsBefore(files, packPath, at))) return undefined;
  await makeParents(undo, path);
  if (image.kind === 'directory') {
    const { mode, uid, gid } = image;
    const attributes = { mode, owner: { uid, gid } };
    if (facts.kind === 'absent') await makeAgain(undo, path, image);
    else await files.setDirectory(path, attributes);
    return undefined;
  }
  if (facts.kind === 'directory') await clear(files, path);
  const exactly = { attributes: { exactly: image.attributes ?? {} } };
  if (image.kind === 'symlink') {
    return { path, state: { kind: 'symlink', target: image.target, ...exactly } };
  }
  const { mode, uid, gid } = image;
  const content = await contentFor(files, packPath, path, image);
  return { path, state: { kind: 'file', content, mode, owner: { uid, gid }, ...exactly } };
}

/** Another OS image may lack them. */
async function makeParents(undo: Undo, path: string): Promise<void> {
  const { files, present } = undo;
  const missing: string[] = [];
  for (let at = posix.dirname(path); at !== '/' && !present.has(at); at = posix.dirname(at)) {
    missing.unshift(at);
  }
  for (const directory of missing) {
    const { kind } = await files.facts(directory);
    if (kind === 'file' || kind === 'other') throw inTheWay(path, `${directory} is no directory`);
    if (kind === 'absent') await makeAgain(undo, directory);
    present.add(directory);
  }
}

/** For a parent that the journal does not name. */
const UNKNOWN: ParentImage = { mode: 0o755, ...ROOT_OWNER };

async function makeAgain(
  { files, parents }: Undo,
  path: string,
  image?: ParentImage,
): Promise<void> {
  const { mode, uid, gid, attributes } = { ...(parents.get(path) ?? UNKNOWN), ...image };
  const exactly = attributes === undefined ? {} : { attributes: { exactly: attributes } };
  await files.change([
    { path, state: { kind: 'directory', mode, owner: { uid, gid }, ...exactly } },
  ]);
}

/** A directory with entries is not ours. */
async function clear(files: HostFiles, path: string): Promise<void> {
  await files.removeDirectory(path);
  if ((await files.facts(path)).kind === 'directory') {
    throw inTheWay(path, 'a directory that is not empty is in its place');
  }
}

function inTheWay(path: string, what: string): Error {
  return Object.assign(new Error(`${path}: ${what}: move it away`), { path });
}

/** After a failure, repeats without the failed path. */
async function changeWhatGoes(undo: Undo, changes: readonly PathChange[]): Promise<void> {
  const { files, failures } = undo;
  let left = changes;
  while (left.length > 0) {
    const made = new Set<string>();
    try {
      return await files.change(left, { onChange: (path) => made.add(path) });
    } catch (error) {
      left = left.filter(({ path }) => !made.has(path));
      const bad = hostPathOf(error);
      if (bad === undefined || !left.some(({ path }) => path === bad)) {
        // An error without a path after the last change belongs to that one.
        const last = changes.at(-1);
        if (left.length === 0 && last !== undefined) failures.note(last.path, error);
        return changeEach(undo, left);
      }
      failures.note(bad, error);
      left = left.filter(({ path }) => path !== bad);
    }
  }
}

async function changeEach(
  { files, failures }: Undo,
  changes: readonly PathChange[],
): Promise<void> {
  for (const change of changes) await failures.during(change.path, () => files.change([change]));
}
