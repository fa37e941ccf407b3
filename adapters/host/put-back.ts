/** Before-images, put back. A path that cannot be put back keeps no other one from it. */

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
import { type FilePart, type PathChange, ROOT_OWNER } from './types';

type Images = readonly (readonly [string, BeforeImage])[];

/** Where before-images are put back, and what could not be. */
interface Undo {
  readonly files: HostFiles;
  readonly packPath: string;
  /** How directories were that lead to the images. */
  readonly parents: ParentImages;
  /** Takes no more space at a time than one of them needs. */
  readonly oneByOne: boolean;
  readonly failures: PathFailures;
  /** Directories that are known to be there. */
  readonly present: Set<string>;
}

/**
 * Puts images back: first what was not there goes, so that a full disk has room for the rest, the
 * newest first; then the rest comes back. What is right already is not touched. Repeatable.
 *
 * @param options - `oneByOne`: takes no more space at a time than one of them needs
 * @returns whether anything was not right
 * @throws an error naming the paths, when all others are back; at once when the disk is full, unless it is
 * done one by one; before anything is changed, when a before-image is damaged
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
  // What an earlier attempt put back may not be durable yet, and will not be written again.
  await files.syncDirectories(new Set([...paths].map((path) => posix.dirname(path))));
  failures.throwIfAny();
  return removed + restored > 0;
}

/** A death may have left something beside each directory that leads to a path, too. */
function withParents(images: Images): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const [path] of images) {
    for (let at = path; at !== '/' && !paths.has(at); at = posix.dirname(at)) paths.add(at);
  }
  return paths;
}

/** Reads what is in the pack before anything is changed: half a way back is worse than none. */
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

/** Removes what was not there. Returns how many there were. */
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

/** Returns how many were not right. */
async function restoreAll(undo: Undo, images: Images): Promise<number> {
  const { files, failures, oneByOne } = undo;
  const paths = images.map(([path]) => path);
  const now = await lookAtEach(files, paths, (path, error) => failures.note(path, error));
  const changes: PathChange[] = [];
  // Directories that went are there again before what was in them.
  for (const [path, image] of directoriesFirst(images)) {
    const found = now.get(path);
    // One that cannot be looked at is among the failures.
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

/** What puts a path back; undefined when it is as it was. What is in its way goes, where that is nobody's. */
async function restoring(undo: Undo, at: Compared): Promise<PathChange | undefined> {
  const { files, packPath } = undo;
  const { path, image, facts } = at;
  // What was not there is gone by now.
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

/** Directories that led there, and that somebody, or another image of the operating system, has taken away. */
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

/** One that is not written down is made as an update makes those that it needs. */
const UNKNOWN: ParentImage = { mode: 0o755, ...ROOT_OWNER };

/** As it was when the update began. */
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

/** An empty directory is nobody's; what is in another one is not ours to remove. */
async function clear(files: HostFiles, path: string): Promise<void> {
  await files.removeDirectory(path);
  if ((await files.facts(path)).kind === 'directory') {
    throw inTheWay(path, 'a directory that is not empty stands in its place');
  }
}

function inTheWay(path: string, what: string): Error {
  return Object.assign(new Error(`${path}: ${what}: move it away`), { path });
}

/** With few syncs as long as nothing fails; what fails is left out of the next attempt. */
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
        // It does not say whose it is; after the last one it is no other's.
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
