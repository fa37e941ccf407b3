/**
 * Files below a host's root. A crash leaves the old or the new content: temporary file in the same
 * directory, owner and mode before data, fsync, rename, fsync of the directory.
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

interface HostFilesOptions {
  readonly root: string;
  readonly fs?: FileSystem;
  readonly ownership?: Ownership;
  /**
   * False: files survive a killed process but no power failure. For simulated machines that share
   * one disk.
   */
  readonly sync?: boolean;
  readonly attributes?: AttributePort;
}

/** Paths are host paths: absolute, normalised, below the root. */
export interface HostFiles {
  /** With its content; a link at the last component is not followed. */
  look(path: string): Promise<PathState>;
  /** Without the content. */
  facts(path: string): Promise<PathFacts>;
  /** Exactly these bytes. False when it is no file. */
  holds(path: string, content: Buffer | FilePart): Promise<boolean>;
  /** The part exists and has its checksum. */
  isWhole(part: FilePart): Promise<boolean>;
  /** Undefined when there is no file. */
  start(path: string, length: number): Promise<Buffer | undefined>;
  attributesOf(paths: readonly string[]): Promise<readonly Attributes[]>;
  /** Sorted, without temporary names; empty when there is no directory. */
  list(path: string): Promise<readonly string[]>;
  /** The same text for all paths that lead to one file by links or mounts. */
  place(path: string): Promise<string>;
  /** Free bytes. @throws with code `EROFS` */
  room(path: string): Promise<{ readonly device: number; readonly bytes: number }>;
  /** In their order, with few syncs. After a failure, exactly the earlier changes are made. */
  change(changes: readonly PathChange[], step?: ChangeStep): Promise<void>;
  /** The parent directory must exist. */
  writeFile(
    path: string,
    file: { readonly content: Buffer; readonly mode: number; readonly owner: Owner },
  ): Promise<void>;
  writeLink(path: string, target: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** An existing directory is not changed. */
  makeDirectory(path: string, attributes: { mode: number; owner: Owner }): Promise<void>;
  setDirectory(path: string, attributes: { mode: number; owner: Owner }): Promise<void>;
  removeDirectory(path: string): Promise<void>;
  /** Removes leftovers of a crash in a write of this path. */
  sweep(path: string): Promise<void>;
  /** Syncs; a new file is readable by root alone. */
  append(path: string, data: Buffer): Promise<void>;
  /** In place, with a sync: takes no space. */
  overwrite(path: string, offset: number, data: Buffer): Promise<void>;
  /** Appends other files in pieces, with one sync; returns where each begins. */
  pack(path: string, sources: readonly string[]): Promise<readonly Packed[]>;
  truncate(path: string, length: number): Promise<void>;
  syncFile(path: string): Promise<void>;
  syncDirectories(paths: Iterable<string>): Promise<void>;
}

const TEMPORARY_PREFIX = '.slipway-';

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

/** The longest time for which reads block the process. */
const TURN_MS = 50;

/** Reads are synchronous, and many files on a slow disk would block heartbeats. */
function breathing(): () => Promise<void> | undefined {
  let turn = performance.now();
  return () => {
    if (performance.now() - turn < TURN_MS) return undefined;
    return nextTurn().then(() => {
      turn = performance.now();
    });
  };
}

/** Does not block on a device that is swapped in. */
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

/** Stays below the usual limit of open descriptors. */
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
    // These numbers may exceed the safe integers.
    const { dev, ino } = disk.fs.fstatSync(fd, { bigint: true });
    return posix.join(`${dev}:${ino}`, name, below);
  });
}

function roomAt(disk: Disk, path: string): { device: number; bytes: number } {
  const { fs } = disk;
  return inNearest(disk, path, ({ fd, directory }) => {
    fs.accessSync(directory, constants.W_OK);
    const { bavail, blocks, bsize } = fs.statfsSync(directory);
    // A file system without a limit reports zero blocks.
    const bytes = blocks === 0 ? Number.MAX_SAFE_INTEGER : bavail * bsize;
    return { device: fs.fstatSync(fd).dev, bytes };
  });
}

/** `below` = the rest of the path. */
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
    // A temporary directory with entries is not Slipway's.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  } finally {
    parent.close();
  }
}
