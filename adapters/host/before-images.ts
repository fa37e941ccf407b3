import { posix } from 'node:path';
import { fail } from '../../core/errors';
import { type Attributes, sameAttributes } from './attributes';
import type { HostFiles } from './files';
import { withEntryOf } from './host-users';
import type { BeforeImage, ParentImage } from './journal-log';
import type { FilePart, PathFacts } from './path-state';

/** Larger contents go to the pack in pieces. */
const IN_LOG_BYTES = 4096;
/** In one append, which is one text in memory. */
const ALL_IN_LOG_BYTES = 1024 * 1024;

/** Parents come before their entries. */
export type BeforeImages = ReadonlyMap<string, BeforeImage>;

/** Existing parents of paths that change. */
export type ParentImages = ReadonlyMap<string, ParentImage>;

type Facts = ReadonlyMap<string, PathFacts>;

interface ImageOptions {
  readonly isKnown: (path: string) => boolean;
  readonly isKnownParent: (path: string) => boolean;
  readonly entryOf?: Readonly<Record<string, string>>;
}

/**
 * Before-images of paths and of their parent directories, for the log. Large contents go to the
 * pack, durably.
 *
 * @param options - `isKnown`, `isKnownParent`: such a path keeps its first image; `entryOf`: path →
 *   account, for files in which only the entry of that account will change
 * @throws `ApplyFailed` naming a device, a socket or a pipe
 */
export async function takeImages(
  files: HostFiles,
  packPath: string,
  paths: readonly string[],
  { isKnown, isKnownParent, entryOf }: ImageOptions,
): Promise<{ readonly images: BeforeImages; readonly parents: ParentImages }> {
  const { facts, present } = await factsOf(files, paths, isKnown);
  const directories = [...facts, ...present].flatMap(([path, now]) =>
    now.kind === 'directory' && !isKnownParent(path) ? [[path, now] as const] : [],
  );
  const attributes = await attributesIn(files, facts, new Map(directories));
  const packed = await packContents(files, packPath, facts, entryOf);
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
        const account = entryOf?.[path];
        const part = account === undefined ? {} : { entryOf: account };
        const { mode, owner } = now;
        images.set(path, { kind: 'file', mode, ...owner, ...some, ...part, ...where });
        break;
      }
      case 'other':
        throw fail('ApplyFailed', `change ${path}: it is a device, a socket or a pipe`, { path });
    }
  }
  const parents = new Map<string, ParentImage>();
  for (const [path, { mode, owner }] of directories) {
    const found = attributes.get(path) ?? {};
    const some = Object.keys(found).length === 0 ? {} : { attributes: found };
    parents.set(path, { mode, ...owner, ...some });
  }
  return { images, parents };
}

/** Missing parents come before their entries; existing parents are returned apart. */
async function factsOf(
  files: HostFiles,
  paths: readonly string[],
  isKnown: (path: string) => boolean,
): Promise<{ readonly facts: Facts; readonly present: Facts }> {
  const facts = new Map<string, PathFacts>();
  const present = new Map<string, PathFacts>();
  const isNew = (at: string): boolean => at !== '/' && !present.has(at) && !facts.has(at);
  for (const path of paths) {
    const missing: string[] = [];
    for (let at = posix.dirname(path); isNew(at); at = posix.dirname(at)) {
      const now = await files.facts(at);
      if (now.kind === 'absent') missing.unshift(at);
      else present.set(at, now);
    }
    for (const parent of missing) if (!isKnown(parent)) facts.set(parent, { kind: 'absent' });
    if (!isKnown(path) && !facts.has(path)) facts.set(path, await files.facts(path));
  }
  return { facts, present };
}

/** With one process for all. */
async function attributesIn(
  files: HostFiles,
  facts: Facts,
  directories: Facts = new Map(),
): Promise<ReadonlyMap<string, Attributes>> {
  const having = [...facts].filter(([, { kind }]) => kind === 'file' || kind === 'symlink');
  const paths = [...having, ...directories].map(([path]) => path);
  const found = await files.attributesOf(paths);
  return new Map(paths.map((path, index) => [path, found[index] ?? {}]));
}

async function packContents(
  files: HostFiles,
  packPath: string,
  facts: Facts,
  entryOf: ImageOptions['entryOf'] = {},
) {
  const big: string[] = [];
  let inLog = 0;
  for (const [path, now] of facts) {
    if (now.kind !== 'file') continue;
    // A file too big to be an account file is restored whole.
    if (path in entryOf && now.size <= ALL_IN_LOG_BYTES) continue;
    if (now.size > IN_LOG_BYTES || inLog + now.size > ALL_IN_LOG_BYTES) big.push(path);
    else inLog += now.size;
  }
  const packed = big.length === 0 ? [] : await files.pack(packPath, big);
  return new Map(big.map((path, index) => [path, packed[index]]));
}

async function contentOf(files: HostFiles, path: string): Promise<string> {
  const state = await files.look(path);
  if (state.kind === 'file') return state.content.toString('base64');
  throw fail('ApplyFailed', `change ${path}: another program is changing it`, { path });
}

/** Unreadable paths count: the undo reports why. Changes nothing. */
export async function differing(
  files: HostFiles,
  packPath: string,
  images: BeforeImages,
): Promise<readonly string[]> {
  const paths = new Set<string>();
  const isThisOne = (path: string) => void paths.add(path);
  const now = await lookAtEach(files, images.keys(), isThisOne);
  for (const [path, image] of images) {
    const found = now.get(path);
    if (found === undefined) continue;
    const isSame = await isAsBefore(files, packPath, { path, image, ...found }).catch(() => false);
    if (!isSame) paths.add(path);
  }
  return [...paths];
}

/**
 * Directories that did not exist before and hold entries of another program: the undo leaves them.
 * Of nested ones, the innermost. An unreadable directory counts, too.
 */
export async function keptDirectories(
  files: HostFiles,
  images: BeforeImages,
): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const [path, { kind }] of images) {
    if (kind === 'absent' && (await isTaken(files, path))) kept.push(path);
  }
  return kept.filter((path) => !kept.some((other) => other.startsWith(`${path}/`))).sort();
}

/** The undo is verified by now, so nothing here may fail it. */
async function isTaken(files: HostFiles, path: string): Promise<boolean> {
  try {
    return (await files.facts(path)).kind === 'directory';
  } catch {
    return true;
  }
}

type Found = Pick<Compared, 'facts' | 'attributes'>;

/**
 * With one process for all attributes unless one path fails.
 *
 * @param onFailure - called for each unreadable path, which is not returned
 */
export async function lookAtEach(
  files: HostFiles,
  paths: Iterable<string>,
  onFailure: (path: string, error: unknown) => void,
): Promise<ReadonlyMap<string, Found>> {
  const facts = new Map<string, PathFacts>();
  for (const path of paths) {
    await files.facts(path).then(
      (found) => facts.set(path, found),
      (error: unknown) => onFailure(path, error),
    );
  }
  const attributes = await attributesIn(files, facts).catch(() => undefined);
  const found = new Map<string, Found>();
  for (const [path, fact] of facts) {
    try {
      const own = attributes ?? (await attributesIn(files, new Map([[path, fact]])));
      found.set(path, { facts: fact, attributes: own.get(path) ?? {} });
    } catch (error) {
      onFailure(path, error);
    }
  }
  return found;
}

export interface Compared {
  readonly path: string;
  readonly image: BeforeImage;
  readonly facts: PathFacts;
  readonly attributes: Attributes;
}

export async function isAsBefore(
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
        (await files.holds(path, await contentFor(files, packPath, path, image)))
      );
  }
}

/** Beside the entry of an account the current content stays. */
export async function contentFor(
  files: HostFiles,
  packPath: string,
  path: string,
  image: Extract<BeforeImage, { readonly kind: 'file' }>,
): Promise<Buffer | FilePart> {
  if ('packed' in image) return { path: packPath, ...image.packed };
  const before = Buffer.from(image.content, 'base64');
  if (image.entryOf === undefined) return before;
  const now = await files.look(path);
  return now.kind === 'file' ? withEntryOf(image.entryOf, before, now.content) : before;
}

function sameOwner(
  a: { readonly uid: number; readonly gid: number },
  b: { readonly uid: number; readonly gid: number },
): boolean {
  return a.uid === b.uid && a.gid === b.gid;
}
