/** Before-images: taken of paths that are about to change, and put back. */

import { posix } from 'node:path';
import { fail } from '../../core/errors';
import { type Attributes, sameAttributes } from './attributes';
import type { HostFiles } from './files';
import type { BeforeImage } from './journal-log';
import type { FilePart, PathChange, PathFacts } from './types';

/** Contents up to here stand in the log; others in the pack, and are copied there in pieces. */
const IN_LOG_BYTES = 4096;
/** All contents in one append of the log: it is one text in memory. */
const ALL_IN_LOG_BYTES = 1024 * 1024;

/** Path → what was there, in the order in which it must be known: parents before what is in them. */
export type BeforeImages = ReadonlyMap<string, BeforeImage>;

type Facts = ReadonlyMap<string, PathFacts>;

/**
 * What is at these paths, and which of their parent directories are missing. Contents that are big go
 * to the pack, durably; the images are for the log.
 *
 * @param isKnown - a path that is known keeps its first image
 * @throws `ApplyFailed` naming a device, a socket or a pipe
 */
export async function takeImages(
  files: HostFiles,
  packPath: string,
  paths: readonly string[],
  isKnown: (path: string) => boolean,
): Promise<BeforeImages> {
  const facts = await factsOf(files, paths, isKnown);
  const attributes = await attributesIn(files, facts);
  const packed = await packContents(files, packPath, facts);
  const images = new Map<string, BeforeImage>();
  for (const [path, now] of facts) {
    const found = attributes.get(path) ?? {};
    const some = Object.keys(found).length === 0 ? {} : { attributes: found };
    switch (now.kind) {
      case 'absent':
        images.set(path, { kind: 'absent' });
        break;
      case 'symlink':
        images.set(path, { kind: 'symlink', target: now.target, ...some });
        break;
      case 'directory':
        images.set(path, { kind: 'directory', mode: now.mode, ...now.owner });
        break;
      case 'file': {
        const inPack = packed.get(path);
        const bytes = inPack === undefined ? await contentOf(files, path) : undefined;
        const where = inPack === undefined ? { content: bytes ?? '' } : { packed: inPack };
        images.set(path, { kind: 'file', mode: now.mode, ...now.owner, ...some, ...where });
        break;
      }
      case 'other':
        throw fail('ApplyFailed', `change ${path}: it is a device, a socket or a pipe`, { path });
    }
  }
  return images;
}

/** Parents that do not exist stand before what will be in them. */
async function factsOf(
  files: HostFiles,
  paths: readonly string[],
  isKnown: (path: string) => boolean,
): Promise<Facts> {
  const facts = new Map<string, PathFacts>();
  const present = new Set<string>(['/']);
  for (const path of paths) {
    const missing: string[] = [];
    for (let at = posix.dirname(path); !present.has(at) && !facts.has(at); at = posix.dirname(at)) {
      if ((await files.facts(at)).kind === 'absent') missing.unshift(at);
      else present.add(at);
    }
    for (const parent of missing) if (!isKnown(parent)) facts.set(parent, { kind: 'absent' });
    if (!isKnown(path) && !facts.has(path)) facts.set(path, await files.facts(path));
  }
  return facts;
}

/** With one process for all of them. */
async function attributesIn(
  files: HostFiles,
  facts: Facts,
): Promise<ReadonlyMap<string, Attributes>> {
  const having = [...facts].filter(([, { kind }]) => kind === 'file' || kind === 'symlink');
  const found = await files.attributesOf(having.map(([path]) => path));
  return new Map(having.map(([path], index) => [path, found[index] ?? {}]));
}

async function packContents(files: HostFiles, packPath: string, facts: Facts) {
  const big: string[] = [];
  let inLog = 0;
  for (const [path, now] of facts) {
    if (now.kind !== 'file') continue;
    if (now.size > IN_LOG_BYTES || inLog + now.size > ALL_IN_LOG_BYTES) big.push(path);
    else inLog += now.size;
  }
  const packed = big.length === 0 ? [] : await files.pack(packPath, big);
  return new Map(big.map((path, index) => [path, packed[index]]));
}

async function contentOf(files: HostFiles, path: string): Promise<string> {
  const state = await files.look(path);
  if (state.kind === 'file') return state.content.toString('base64');
  throw fail('ApplyFailed', `change ${path}: somebody else is changing it`, { path });
}

/**
 * Puts images back: first what was not there goes, so that a full disk has room for the rest, the
 * newest first; then the rest comes back. What is right already is not touched. Repeatable.
 *
 * @param options - `oneByOne`: takes no more space at a time than one of them needs
 * @returns whether anything was not right
 * @throws an error naming the path; before anything is changed, when a before-image is damaged
 */
export async function putBack(
  files: HostFiles,
  packPath: string,
  images: BeforeImages,
  { oneByOne = false }: { readonly oneByOne?: boolean } = {},
): Promise<boolean> {
  const newestFirst = [...images].reverse();
  await refuseDamaged(files, packPath, newestFirst);
  for (const [path, image] of newestFirst) if (image.kind !== 'directory') await files.sweep(path);
  const absent = newestFirst.filter(([, { kind }]) => kind === 'absent');
  const removed = await removeAll(
    files,
    absent.map(([path]) => path),
  );
  const restored = await restoreAll(files, packPath, newestFirst, oneByOne);
  // What an earlier attempt put back may not be durable yet, and will not be written again.
  await files.syncDirectories(new Set(newestFirst.map(([path]) => posix.dirname(path))));
  return removed + restored > 0;
}

/** Reads what is in the pack before anything is changed: half a way back is worse than none. */
async function refuseDamaged(
  files: HostFiles,
  packPath: string,
  images: readonly (readonly [string, BeforeImage])[],
): Promise<void> {
  for (const [path, image] of images) {
    if (image.kind !== 'file' || !('packed' in image)) continue;
    const part = { path: packPath, ...image.packed };
    if (await files.isWhole(part)) continue;
    const why = `the before-image of ${path} in ${packPath} is damaged; nothing was changed`;
    throw fail('RollbackFailed', why, { path });
  }
}

/** The paths that are not as their images say. Changes nothing. */
export async function differing(
  files: HostFiles,
  packPath: string,
  images: BeforeImages,
): Promise<readonly string[]> {
  const now = new Map<string, PathFacts>();
  for (const path of images.keys()) now.set(path, await files.facts(path));
  const attributes = await attributesIn(files, now);
  const paths: string[] = [];
  for (const [path, image] of images) {
    const facts = now.get(path) ?? { kind: 'absent' };
    const at = { path, image, facts, attributes: attributes.get(path) ?? {} };
    if (!(await isAsBefore(files, packPath, at))) paths.push(path);
  }
  return paths;
}

/** Returns how many there were. */
async function removeAll(files: HostFiles, paths: readonly string[]): Promise<number> {
  const directories: string[] = [];
  const others: PathChange[] = [];
  for (const path of paths) {
    const { kind } = await files.facts(path);
    if (kind === 'directory') directories.push(path);
    else if (kind !== 'absent') others.push({ path, state: { kind: 'absent' } });
  }
  await files.change(others);
  for (const path of directories) await files.removeDirectory(path);
  return others.length + directories.length;
}

/** Returns how many were not right. */
async function restoreAll(
  files: HostFiles,
  packPath: string,
  images: readonly (readonly [string, BeforeImage])[],
  oneByOne: boolean,
): Promise<number> {
  const now = new Map<string, PathFacts>();
  for (const [path] of images) now.set(path, await files.facts(path));
  const attributes = await attributesIn(files, now);
  const changes: PathChange[] = [];
  // Directories that went are there again before what was in them.
  for (const [path, image] of directoriesFirst(images)) {
    const facts = now.get(path) ?? { kind: 'absent' };
    const change = await restoring(files, packPath, {
      path,
      image,
      facts,
      attributes: attributes.get(path) ?? {},
    });
    if (change !== undefined) changes.push(change);
  }
  if (!oneByOne) await files.change(changes);
  else for (const change of changes) await files.change([change]);
  return changes.length;
}

function directoriesFirst<Entry extends readonly [string, BeforeImage]>(
  images: readonly Entry[],
): readonly Entry[] {
  const isDirectory = ([, { kind }]: Entry): boolean => kind === 'directory';
  return [
    ...images.filter(isDirectory).sort(([a], [b]) => (a < b ? -1 : 1)),
    ...images.filter((entry) => !isDirectory(entry)),
  ];
}

/** A path: what was there, and what is. */
interface Compared {
  readonly path: string;
  readonly image: BeforeImage;
  readonly facts: PathFacts;
  readonly attributes: Attributes;
}

async function isAsBefore(
  files: HostFiles,
  packPath: string,
  { path, image, facts, attributes }: Compared,
): Promise<boolean> {
  switch (image.kind) {
    case 'absent':
      return facts.kind === 'absent';
    case 'directory':
      return (
        facts.kind === 'directory' && facts.mode === image.mode && sameOwner(facts.owner, image)
      );
    case 'symlink':
      return (
        facts.kind === 'symlink' &&
        facts.target === image.target &&
        sameAttributes(attributes, image.attributes ?? {})
      );
    case 'file':
      return (
        facts.kind === 'file' &&
        facts.mode === image.mode &&
        sameOwner(facts.owner, image) &&
        sameAttributes(attributes, image.attributes ?? {}) &&
        (await files.holds(path, contentIn(packPath, image)))
      );
  }
}

function contentIn(
  packPath: string,
  image: Extract<BeforeImage, { readonly kind: 'file' }>,
): Buffer | FilePart {
  return 'packed' in image
    ? { path: packPath, ...image.packed }
    : Buffer.from(image.content, 'base64');
}

/** What puts a path back; undefined when it is as it was. */
async function restoring(
  files: HostFiles,
  packPath: string,
  at: Compared,
): Promise<PathChange | undefined> {
  const { path, image, facts } = at;
  // What was not there is gone by now.
  if (image.kind === 'absent' || (await isAsBefore(files, packPath, at))) return undefined;
  if (image.kind === 'directory') {
    const { mode, uid, gid } = image;
    const attributes = { mode, owner: { uid, gid } };
    if (facts.kind === 'absent') await files.makeDirectory(path, attributes);
    else await files.setDirectory(path, attributes);
    return undefined;
  }
  const exactly = { attributes: { exactly: image.attributes ?? {} } };
  if (image.kind === 'symlink') {
    return { path, state: { kind: 'symlink', target: image.target, ...exactly } };
  }
  const { mode, uid, gid } = image;
  const content = contentIn(packPath, image);
  return { path, state: { kind: 'file', content, mode, owner: { uid, gid }, ...exactly } };
}

function sameOwner(
  a: { readonly uid: number; readonly gid: number },
  b: { readonly uid: number; readonly gid: number },
): boolean {
  return a.uid === b.uid && a.gid === b.gid;
}
