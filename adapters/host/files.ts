/**
 * Files below a host's root directory, written so that a crash leaves the old content or the new one
 * and never something in between: temporary file in the same directory, owner and mode before data,
 * fsync, rename, fsync of the directory.
 */

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { type FileSystem, NODE_FILE_SYSTEM } from './file-system';
import { type Ownership, REAL_OWNERSHIP } from './ownership';
import { hasCode, lookUp, resolveInRoot } from './root-paths';
import type { Owner, PathState } from './types';

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
}

/** All paths are host paths: absolute, normalised, seen from the root. */
export interface HostFiles {
  /** What is at the path, with its content; links at the last component are not followed. */
  look(path: string): Promise<PathState>;
  /** Names in a directory, sorted; empty when there is none. Leftovers of writes are not listed. */
  list(path: string): Promise<readonly string[]>;
  /** Replaces whatever file or link is there. The parent directory must exist. */
  writeFile(
    path: string,
    file: { readonly content: Buffer; readonly mode: number; readonly owner: Owner },
  ): Promise<void>;
  /** Replaces whatever file or link is there by a link. */
  writeLink(path: string, target: string): Promise<void>;
  /** Removes a file or a link; nothing there is fine. */
  remove(path: string): Promise<void>;
  /** Makes one directory; one that is there stays as it is. */
  makeDirectory(path: string, attributes: { mode: number; owner: Owner }): Promise<void>;
  /** Removes a directory if it is empty; one that is not, or is not there, is fine. */
  removeDirectory(path: string): Promise<void>;
  /** Removes what an interrupted write of this path left behind. */
  sweep(path: string): Promise<void>;
  /** Appends and syncs; makes the file (0600) when it is missing. */
  append(path: string, data: Buffer): Promise<void>;
  /** Cuts a file to a length and syncs. */
  truncate(path: string, length: number): Promise<void>;
}

/** Prefix of temporary names; such names are ours to remove. */
const TEMPORARY_PREFIX = '.slipway-';

/** Everything that the operations below share. */
interface Disk {
  readonly fs: FileSystem;
  readonly ownership: Ownership;
  readonly sync: boolean;
  /** Real path of a host path. */
  readonly real: (path: string) => string;
}

/** The files of one host. */
export function createHostFiles(options: HostFilesOptions): HostFiles {
  const fs = options.fs ?? NODE_FILE_SYSTEM;
  const disk: Disk = {
    fs,
    ownership: options.ownership ?? REAL_OWNERSHIP,
    sync: options.sync ?? true,
    real: (path) => resolveInRoot(fs, options.root, path),
  };
  return {
    look: async (path) => lookAt(disk, path),
    list: async (path) => list(disk, path),
    writeFile: (path, file) => writeFile(disk, path, file),
    writeLink: (path, target) => writeLink(disk, path, target),
    async remove(path) {
      const target = disk.real(path);
      if (await removeAny(disk, target)) await syncDirectory(disk, posix.dirname(target));
    },
    makeDirectory: (path, attributes) => makeDirectory(disk, path, attributes),
    removeDirectory: (path) => removeDirectory(disk, path),
    async sweep(path) {
      await removeAny(disk, temporaryOf(disk.real(path)));
    },
    append: (path, data) => append(disk, path, data),
    async truncate(path, length) {
      await withHandle(await fs.open(disk.real(path), 'r+'), async (handle) => {
        await handle.truncate(length);
        await syncHandle(disk, handle);
      });
    },
  };
}

/** One name per target, so that the next write or an undo finds what a crash left. */
function temporaryOf(target: string): string {
  const name = createHash('sha256').update(posix.basename(target)).digest('hex').slice(0, 16);
  return posix.join(posix.dirname(target), `${TEMPORARY_PREFIX}${name}`);
}

function lookAt({ fs, ownership, real }: Disk, path: string): PathState {
  const target = real(path);
  const stats = lookUp(fs, target);
  if (stats === undefined) return { kind: 'absent' };
  const mode = stats.mode & 0o7777;
  if (stats.isSymbolicLink()) return { kind: 'symlink', target: fs.readlinkSync(target, 'utf8') };
  if (stats.isDirectory()) return { kind: 'directory', mode, owner: ownership.of(path, stats) };
  if (!stats.isFile()) return { kind: 'other' };
  const content = fs.readFileSync(target);
  return { kind: 'file', content, mode, owner: ownership.of(path, stats) };
}

function list({ fs, real }: Disk, path: string): readonly string[] {
  try {
    // The extra component makes the resolver follow a link at the directory itself.
    const directory = posix.dirname(real(posix.join(path, 'any')));
    const names = fs.readdirSync(directory, 'utf8');
    return names.filter((name) => !name.startsWith(TEMPORARY_PREFIX)).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

async function writeFile(
  disk: Disk,
  path: string,
  file: { readonly content: Buffer; readonly mode: number; readonly owner: Owner },
): Promise<void> {
  const { fs, ownership } = disk;
  const target = disk.real(path);
  const temporary = temporaryOf(target);
  await removeAny(disk, temporary);
  await withHandle(await fs.open(temporary, 'wx', 0o600), async (handle) => {
    await ownership.set(path, handle, file.owner);
    await handle.chmod(file.mode);
    await handle.writeFile(file.content);
    await syncHandle(disk, handle);
  });
  await fs.rename(temporary, target);
  await syncDirectory(disk, posix.dirname(target));
}

async function writeLink(disk: Disk, path: string, link: string): Promise<void> {
  const target = disk.real(path);
  const temporary = temporaryOf(target);
  await removeAny(disk, temporary);
  await disk.fs.symlink(link, temporary);
  await disk.fs.rename(temporary, target);
  await syncDirectory(disk, posix.dirname(target));
}

async function append(disk: Disk, path: string, data: Buffer): Promise<void> {
  const target = disk.real(path);
  const created = lookUp(disk.fs, target) === undefined;
  await withHandle(await disk.fs.open(target, 'a', 0o600), async (handle) => {
    await handle.writeFile(data);
    await syncHandle(disk, handle);
  });
  if (created) await syncDirectory(disk, posix.dirname(target));
}

/** Whether there was something to remove. A directory is refused by the system. */
async function removeAny({ fs }: Disk, real: string): Promise<boolean> {
  if (lookUp(fs, real) === undefined) return false;
  await fs.unlink(real);
  return true;
}

async function makeDirectory(
  disk: Disk,
  path: string,
  { mode, owner }: { readonly mode: number; readonly owner: Owner },
): Promise<void> {
  const target = disk.real(path);
  // A link to a directory is as good as one: `/home` is such a link on image-based systems.
  if (lookUp(disk.fs, target) !== undefined) return;
  await disk.fs.mkdir(target, { mode: 0o700 });
  await withHandle(await disk.fs.open(target, 'r'), async (handle) => {
    await disk.ownership.set(path, handle, owner);
    await handle.chmod(mode);
    await syncHandle(disk, handle);
  });
  await syncDirectory(disk, posix.dirname(target));
}

async function removeDirectory(disk: Disk, path: string): Promise<void> {
  const target = disk.real(path);
  try {
    await disk.fs.rmdir(target);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) return;
    throw error;
  }
  await syncDirectory(disk, posix.dirname(target));
}

async function syncHandle({ sync }: Disk, handle: FileHandle): Promise<void> {
  if (sync) await handle.sync();
}

async function syncDirectory(disk: Disk, real: string): Promise<void> {
  if (disk.sync) await withHandle(await disk.fs.open(real, 'r'), (handle) => handle.sync());
}

async function withHandle(
  handle: FileHandle,
  work: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  try {
    await work(handle);
  } finally {
    await handle.close();
  }
}
