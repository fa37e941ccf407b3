/**
 * Files below a host's root directory, written so that a crash leaves the old content or the new one
 * and never something in between: temporary file in the same directory, owner and mode before data,
 * fsync, rename, fsync of the directory.
 */

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { type FileSystem, NODE_FILE_SYSTEM, withoutSync } from './file-system';
import { type Ownership, REAL_OWNERSHIP } from './ownership';
import { hasCode, resolveInRoot } from './root-paths';
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

/** The files of one host. */
export function createHostFiles(options: HostFilesOptions): HostFiles {
  const fs = options.sync === false ? withoutSync(options.fs) : (options.fs ?? NODE_FILE_SYSTEM);
  const ownership = options.ownership ?? REAL_OWNERSHIP;
  const real = (path: string) => resolveInRoot(fs, options.root, path);

  return {
    async look(path) {
      return lookAt({ fs, ownership, path, real: await real(path) });
    },
    async list(path) {
      try {
        // The extra component makes the resolver follow a link at the directory itself.
        const directory = posix.dirname(await real(posix.join(path, 'any')));
        const names = await fs.readdir(directory);
        return names.filter((name) => !name.startsWith(TEMPORARY_PREFIX)).sort();
      } catch (error) {
        if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
        throw error;
      }
    },
    async writeFile(path, file) {
      const target = await real(path);
      const temporary = temporaryOf(target);
      await removeAny(fs, temporary);
      const handle = await fs.open(temporary, 'wx', 0o600);
      try {
        await ownership.set(path, handle, file.owner);
        await handle.chmod(file.mode);
        await handle.writeFile(file.content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await fs.rename(temporary, target);
      await syncDirectory(fs, posix.dirname(target));
    },
    async writeLink(path, link) {
      const target = await real(path);
      const temporary = temporaryOf(target);
      await removeAny(fs, temporary);
      await fs.symlink(link, temporary);
      await fs.rename(temporary, target);
      await syncDirectory(fs, posix.dirname(target));
    },
    async remove(path) {
      const target = await real(path);
      if (await removeAny(fs, target)) await syncDirectory(fs, posix.dirname(target));
    },
    async makeDirectory(path, { mode, owner }) {
      await makeDirectory({ fs, ownership, path, target: await real(path), mode, owner });
    },
    async removeDirectory(path) {
      const target = await real(path);
      try {
        await fs.rmdir(target);
      } catch (error) {
        if (hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) return;
        throw error;
      }
      await syncDirectory(fs, posix.dirname(target));
    },
    async sweep(path) {
      await removeAny(fs, temporaryOf(await real(path)));
    },
    async append(path, data) {
      const target = await real(path);
      const created = (await lookAt({ fs, ownership, path, real: target })).kind === 'absent';
      await withHandle(await fs.open(target, 'a', 0o600), async (handle) => {
        await handle.writeFile(data);
        await handle.sync();
      });
      if (created) await syncDirectory(fs, posix.dirname(target));
    },
    async truncate(path, length) {
      await withHandle(await fs.open(await real(path), 'r+'), async (handle) => {
        await handle.truncate(length);
        await handle.sync();
      });
    },
  };
}

/** One name per target, so that the next write or an undo finds what a crash left. */
function temporaryOf(target: string): string {
  const name = createHash('sha256').update(posix.basename(target)).digest('hex').slice(0, 16);
  return posix.join(posix.dirname(target), `${TEMPORARY_PREFIX}${name}`);
}

interface LookInput {
  readonly fs: FileSystem;
  readonly ownership: Ownership;
  readonly path: string;
  readonly real: string;
}

async function lookAt({ fs, ownership, path, real }: LookInput): Promise<PathState> {
  try {
    const stats = await fs.lstat(real);
    const mode = stats.mode & 0o7777;
    if (stats.isSymbolicLink()) return { kind: 'symlink', target: await fs.readlink(real) };
    if (stats.isDirectory()) return { kind: 'directory', mode, owner: ownership.of(path, stats) };
    if (!stats.isFile()) return { kind: 'other' };
    const content = await fs.readFile(real);
    return { kind: 'file', content, mode, owner: ownership.of(path, stats) };
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return { kind: 'absent' };
    throw error;
  }
}

/** Whether there was something to remove. A directory is refused by the system. */
async function removeAny(fs: FileSystem, real: string): Promise<boolean> {
  try {
    await fs.unlink(real);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

async function makeDirectory(input: {
  fs: FileSystem;
  ownership: Ownership;
  path: string;
  target: string;
  mode: number;
  owner: Owner;
}): Promise<void> {
  const { fs, target } = input;
  try {
    await fs.mkdir(target, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    throw error;
  }
  await withHandle(await fs.open(target, 'r'), async (handle) => {
    await input.ownership.set(input.path, handle, input.owner);
    await handle.chmod(input.mode);
    await handle.sync();
  });
  await syncDirectory(fs, posix.dirname(target));
}

async function syncDirectory(fs: FileSystem, real: string): Promise<void> {
  await withHandle(await fs.open(real, 'r'), (handle) => handle.sync());
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
