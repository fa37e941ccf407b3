/**
 * Files below a host's root directory, written so that a crash leaves the old content or the new one
 * and never something in between: temporary file in the same directory, owner and mode before data,
 * fsync, rename, fsync of the directory.
 */

import { constants } from 'node:fs';
import { posix } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AttributePort, type Attributes, createAttributes } from './attributes';
import {
  changeAll,
  type ChangeStep,
  makeDirectory,
  removeTemporary,
  temporaryIn,
} from './file-changes';
import { type FileSystem, NODE_FILE_SYSTEM } from './file-system';
import { holds, isWhole, pack, type Packed, piecesOf } from './file-parts';
import { type Disk, parentsBelow, syncDirectories, toldOf, withHandle, withParent } from './disk';
import { type Ownership, REAL_OWNERSHIP } from './ownership';
import { hasCode, lookUp, type Parent } from './root-paths';
import { createRelabel } from './selinux';
import type { FilePart, Owner, PathChange, PathFacts, PathState } from './path-state';

export interface HostFilesOptions {
  /** Directory that the host sees as `/`. */
  readonly root: string;
  readonly fs?: FileSystem;
  readonly ownership?: Ownership;
  /**
   * False = nothing is synced: survives a killed process but not a power failure. For simulated
   * machines, hundreds of which share one disk.
   */
  readonly sync?: boolean;
  /** Absent = those on disk, through `getfattr` and `setfattr`. */
  readonly attributes?: AttributePort;
}

/** All paths are host paths: absolute, normalised, seen from the root. */
export interface HostFiles {
  /** What is at the path, with its content; links at the last component are not followed. */
  look(path: string): Promise<PathState>;
  /** The same without the content, however big it is. */
  facts(path: string): Promise<PathFacts>;
  /** Whether the file at a path has exactly these bytes; read in pieces. False when it is no file. */
  holds(path: string, content: Buffer | FilePart): Promise<boolean>;
  /** Whether a part is there and has its checksum. */
  isWhole(part: FilePart): Promise<boolean>;
  /** The first bytes of a file, or all when it is shorter; undefined when there is no file. */
  start(path: string, length: number): Promise<Buffer | undefined>;
  /** Extended attributes of files and links, with one process for all of them; in their order. */
  attributesOf(paths: readonly string[]): Promise<readonly Attributes[]>;
  /** Names in a directory, sorted; empty when there is none. Leftovers of writes are not listed. */
  list(path: string): Promise<readonly string[]>;
  /**
   * Which file a path names or will name, the same text for all paths that do: the nearest directory
   * above it that is there, whatever links or mounts lead to it, and the names below.
   */
  place(path: string): Promise<string>;
  /** Bytes that may still be written where the path is or will be. @throws with code `EROFS` */
  room(path: string): Promise<{ readonly device: number; readonly bytes: number }>;
  /**
   * Makes changes in their order, with few syncs: the data of each file before it is renamed, each
   * directory once at the end. A failure leaves those before it made, and nothing beside them.
   */
  change(changes: readonly PathChange[], step?: ChangeStep): Promise<void>;
  /** Replaces whatever file or link is there. The parent directory must exist. */
  writeFile(
    path: string,
    file: { readonly content: Buffer; readonly mode: number; readonly owner: Owner },
  ): Promise<void>;
  /** Replaces whatever file or link is there by a link. */
  writeLink(path: string, target: string): Promise<void>;
  /** Removes a file or a link; nothing there is fine. */
  remove(path: string): Promise<void>;
  /** Makes one directory with these attributes; one that is there is left as it is. */
  makeDirectory(path: string, attributes: { mode: number; owner: Owner }): Promise<void>;
  /** Gives a directory other attributes, if it has not got them. */
  setDirectory(path: string, attributes: { mode: number; owner: Owner }): Promise<void>;
  /** Removes a directory if it is empty; nothing there is fine. */
  removeDirectory(path: string): Promise<void>;
  /** Removes what a crashed write, or making, of this path left beside it. */
  sweep(path: string): Promise<void>;
  /** Appends and syncs; the file is made for root alone when there is none. */
  append(path: string, data: Buffer): Promise<void>;
  /** Overwrites bytes that are there, in place, and syncs them: takes no space. */
  overwrite(path: string, offset: number, data: Buffer): Promise<void>;
  /** Appends the bytes of other files, in pieces, with one sync; where each of them begins. */
  pack(path: string, sources: readonly string[]): Promise<readonly Packed[]>;
  /** Cuts a file of ours off at a length, and syncs. */
  truncate(path: string, length: number): Promise<void>;
  /** Makes the bytes of a file durable. */
  syncFile(path: string): Promise<void>;
  /** Makes durable what happened to names in these directories. */
  syncDirectories(paths: Iterable<string>): Promise<void>;
}

/** Prefix of temporary names; such names are ours to remove. */
const TEMPORARY_PREFIX = '.slipway-';

/** The files of one host. */
export function createHostFiles(options: HostFilesOptions): HostFiles {
  const fs = options.fs ?? NODE_FILE_SYSTEM;
  const disk: Disk = {
    fs,
    ownership: options.ownership ?? REAL_OWNERSHIP,
    attributes: options.attributes ?? createAttributes(),
    relabel: createRelabel(options.root),
    sync: options.sync ?? true,
    parentOf: parentsBelow(fs, options.root),
  };
  const breathe = breathing();
  const told =
    <Rest extends readonly unknown[], Result>(work: (path: string, ...rest: Rest) => Result) =>
    async (path: string, ...rest: Rest): Promise<Awaited<Result>> => {
      try {
        await breathe();
        return await work(path, ...rest);
      } catch (error) {
        throw toldOf(path, error);
      }
    };
  return {
    look: told((path) => lookAt(disk, path)),
    facts: told((path) => factsAt(disk, path)),
    holds: told((path, content: Buffer | FilePart) => holds(disk, path, content)),
    isWhole: (part) => isWhole(disk, part),
    start: told((path, length: number) => startOf(disk, path, length)),
    attributesOf: (paths) => attributesOf(disk, paths),
    list: told((path) => list(disk, path)),
    place: told((path) => placeOf(disk, path)),
    room: told((path) => roomAt(disk, path)),
    change: (changes, step) => changeAll(disk, changes, step),
    writeFile: (path, file) => changeAll(disk, [{ path, state: { kind: 'file', ...file } }]),
    writeLink: (path, target) => changeAll(disk, [{ path, state: { kind: 'symlink', target } }]),
    remove: (path) => changeAll(disk, [{ path, state: { kind: 'absent' } }]),
    makeDirectory: told(async (path, attributes: { mode: number; owner: Owner }) => {
      if ((await makeDirectory(disk, path, attributes)) !== 'there') {
        await syncDirectories(disk, [posix.dirname(path)]);
      }
    }),
    setDirectory: told((path, attributes: { mode: number; owner: Owner }) =>
      setDirectory(disk, path, attributes),
    ),
    removeDirectory: told((path) => removeDirectory(disk, path)),
    sweep: told((path) => sweep(disk, path)),
    append: told((path, data: Buffer) => append(disk, path, data)),
    overwrite: told((path, offset: number, data: Buffer) => overwrite(disk, path, offset, data)),
    pack: told((path, sources: readonly string[]) => pack(disk, path, sources)),
    truncate: told((path, length: number) =>
      withParent(disk, path, async ({ target }) =>
        withHandle(
          await fs.open(target, constants.O_RDWR | constants.O_NOFOLLOW),
          async (handle) => {
            await handle.truncate(length);
            if (disk.sync) await handle.sync();
          },
        ),
      ),
    ),
    syncFile: told((path) =>
      withParent(disk, path, async ({ target }) =>
        withHandle(await fs.open(target, READ_ONLY), async (handle) => {
          if (disk.sync) await handle.sync();
        }),
      ),
    ),
    syncDirectories: (paths) => syncDirectories(disk, paths),
  };
}

/** Others are kept waiting no longer than this, and one look. */
const TURN_MS = 50;

/**
 * Lets others have their turn now and then: looking is synchronous, and a slow disk under a config of
 * many files would keep heartbeats and signs of life waiting for as long as it takes.
 */
function breathing(): () => Promise<void> | undefined {
  let turn = performance.now();
  return () => {
    if (performance.now() - turn < TURN_MS) return undefined;
    return nextTurn().then(() => {
      turn = performance.now();
    });
  };
}

/** Not even a device that is swapped in between two calls is waited for. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function factsAt(disk: Disk, path: string): PathFacts {
  return inParent(disk, path, (parent) => factsIn(disk, parent, path)) ?? { kind: 'absent' };
}

function factsIn({ fs, ownership }: Disk, { target }: Parent, path: string): PathFacts {
  const stats = lookUp(fs, target);
  if (stats === undefined) return { kind: 'absent' };
  const mode = stats.mode & 0o7777;
  if (stats.isSymbolicLink()) return { kind: 'symlink', target: fs.readlinkSync(target, 'utf8') };
  const owner = ownership.of(path, stats);
  if (stats.isDirectory()) return { kind: 'directory', mode, owner };
  return stats.isFile() ? { kind: 'file', size: stats.size, mode, owner } : { kind: 'other' };
}

function lookAt(disk: Disk, path: string): PathState {
  const found = inParent(disk, path, (parent): PathState => {
    const facts = factsIn(disk, parent, path);
    if (facts.kind !== 'file') return facts;
    const fd = disk.fs.openSync(parent.target, READ_ONLY);
    try {
      if (!disk.fs.fstatSync(fd).isFile()) return { kind: 'other' };
      const { mode, owner } = facts;
      return { kind: 'file', content: disk.fs.readFileSync(fd), mode, owner };
    } finally {
      disk.fs.closeSync(fd);
    }
  });
  return found ?? { kind: 'absent' };
}

async function startOf(disk: Disk, path: string, length: number): Promise<Buffer | undefined> {
  if (factsAt(disk, path).kind !== 'file') return undefined;
  const pieces: Buffer[] = [];
  for await (const piece of piecesOf(disk, { path, size: length })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Undefined = there is no such directory. */
function inParent<Result>(
  disk: Disk,
  path: string,
  work: (parent: Parent) => Result,
): Result | undefined {
  const parent = disk.parentOf(path);
  if (parent === undefined) return undefined;
  try {
    return work(parent);
  } finally {
    parent.close();
  }
}

async function attributesOf(disk: Disk, paths: readonly string[]): Promise<readonly Attributes[]> {
  const found: Attributes[] = [];
  for (let at = 0; at < paths.length; at += OPEN_AT_ONCE) {
    const fds: number[] = [];
    try {
      const some = paths.slice(at, at + OPEN_AT_ONCE);
      for (const path of some) fds.push(openForAttributes(disk, path));
      found.push(...(await disk.attributes.read(fds)));
    } finally {
      for (const fd of fds) disk.fs.closeSync(fd);
    }
  }
  return found;
}

/** As many descriptors as any process may have open. */
const OPEN_AT_ONCE = 200;
const O_PATH = 0o10000000;

function openForAttributes(disk: Disk, path: string): number {
  const parent = disk.parentOf(path);
  if (parent === undefined) throw Object.assign(new Error(`${path} is gone`), { code: 'ENOENT' });
  try {
    return disk.fs.openSync(parent.target, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    throw toldOf(path, error);
  } finally {
    parent.close();
  }
}

function list({ fs, parentOf }: Disk, path: string): readonly string[] {
  // The extra component makes the directory itself the parent.
  const parent = parentOf(posix.join(path, 'any'));
  if (parent === undefined) return [];
  try {
    const names = fs.readdirSync(parent.directory, 'utf8');
    return names.filter((name) => !name.startsWith(TEMPORARY_PREFIX)).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  } finally {
    parent.close();
  }
}

function placeOf(disk: Disk, path: string): string {
  return inNearest(disk, path, ({ fd, name }, below) => {
    // Of some file systems the numbers are larger than what a plain number holds exactly.
    const { dev, ino } = disk.fs.fstatSync(fd, { bigint: true });
    return posix.join(`${dev}:${ino}`, name, below);
  });
}

function roomAt(disk: Disk, path: string): { device: number; bytes: number } {
  const { fs } = disk;
  return inNearest(disk, path, ({ fd, directory }) => {
    fs.accessSync(directory, constants.W_OK);
    const { bavail, blocks, bsize } = fs.statfsSync(directory);
    // File systems in memory may have no limit, which they give as a size of nothing.
    const bytes = blocks === 0 ? Number.MAX_SAFE_INTEGER : bavail * bsize;
    return { device: fs.fstatSync(fd).dev, bytes };
  });
}

/** In the nearest directory that is there; `below` = what of the path is below its name in it. */
function inNearest<Result>(
  { parentOf }: Disk,
  path: string,
  work: (parent: Parent, below: string) => Result,
): Result {
  for (let at = path; ; at = posix.dirname(at)) {
    const parent = parentOf(at);
    if (parent === undefined) continue;
    try {
      return work(parent, path.slice(at.length));
    } finally {
      parent.close();
    }
  }
}

async function append(disk: Disk, path: string, data: Buffer): Promise<void> {
  const created = await withParent(disk, path, async ({ target }) => {
    const isNew = lookUp(disk.fs, target) === undefined;
    const flags =
      constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;
    await withHandle(await disk.fs.open(target, flags, 0o600), async (handle) => {
      await handle.writeFile(data);
      if (disk.sync) await handle.sync();
    });
    return isNew;
  });
  if (created) await syncDirectories(disk, [posix.dirname(path)]);
}

async function overwrite(disk: Disk, path: string, offset: number, data: Buffer): Promise<void> {
  await withParent(disk, path, async ({ target }) => {
    const flags = constants.O_WRONLY | constants.O_NOFOLLOW;
    await withHandle(await disk.fs.open(target, flags), async (handle) => {
      await handle.write(data, 0, data.length, offset);
      if (disk.sync) await handle.datasync();
    });
  });
}

async function setDirectory(
  disk: Disk,
  path: string,
  { mode, owner }: { readonly mode: number; readonly owner: Owner },
): Promise<void> {
  await withParent(disk, path, async ({ target }) => {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    await withHandle(await disk.fs.open(target, flags), async (handle) => {
      await disk.ownership.set(path, handle, owner);
      await handle.chmod(mode);
      if (disk.sync) await handle.sync();
    });
  });
}

async function removeDirectory(disk: Disk, path: string): Promise<void> {
  const parent = disk.parentOf(path);
  if (parent === undefined) return;
  try {
    await disk.fs.rmdir(parent.target);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) return;
    throw error;
  } finally {
    parent.close();
  }
  await syncDirectories(disk, [posix.dirname(path)]);
}

async function sweep(disk: Disk, path: string): Promise<void> {
  const parent = disk.parentOf(path);
  if (parent === undefined) return;
  try {
    await removeTemporary(disk.fs, temporaryIn(parent));
  } catch (error) {
    // Slipway's own are empty: a directory with something in it is somebody's, whatever its name.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  } finally {
    parent.close();
  }
}
