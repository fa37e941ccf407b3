/** The base of work on a host's files: root, owners, and errors with host paths. */

import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { failureName } from '../../core/errors';
import type { AttributePort } from './attributes';
import type { FileSystem } from './file-system';
import type { Ownership } from './ownership';
import { hasCode, openParent, type Parent } from './root-paths';

export interface Disk {
  readonly fs: FileSystem;
  readonly ownership: Ownership;
  readonly attributes: AttributePort;
  /** To the labels that the machine's policy has for new paths. */
  readonly relabel: (paths: readonly string[]) => Promise<void>;
  readonly sync: boolean;
  readonly parentOf: (path: string) => Parent | undefined;
}

/** @param root - the host's `/`; resolved at first use */
export function parentsBelow(fs: FileSystem, root: string): Disk['parentOf'] {
  let real: string | undefined;
  return (path) => openParent(fs, (real ??= fs.realpathSync(root, 'utf8')), path);
}

/** @throws an error with code `ENOENT` when there is no such directory */
export async function withParent<Result>(
  disk: Disk,
  path: string,
  work: (parent: Parent) => Promise<Result>,
): Promise<Result> {
  const parent = disk.parentOf(path);
  if (parent === undefined) throw missingParent(path);
  try {
    return await work(parent);
  } finally {
    parent.close();
  }
}

export function missingParent(path: string): Error {
  return Object.assign(new Error(`${path}: its directory is missing`), { code: 'ENOENT', path });
}

export async function withHandle<Result>(
  handle: FileHandle,
  work: (handle: FileHandle) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Each directory once, without missing ones. */
export async function syncDirectories(disk: Disk, directories: Iterable<string>): Promise<void> {
  if (!disk.sync) return;
  for (const directory of directories) {
    // Makes the directory itself the parent.
    const parent = disk.parentOf(posix.join(directory, 'any'));
    if (parent === undefined) continue;
    try {
      await withHandle(await disk.fs.open(parent.directory, 'r'), (handle) => handle.sync());
    } catch (error) {
      // EINVAL: this file system cannot sync directories.
      if (!hasCode(error, 'EINVAL')) throw toldOf(directory, error);
    } finally {
      parent.close();
    }
  }
}

/**
 * The message names the host path instead of the descriptor. Code and cause stay; errors of the
 * catalogue are unchanged.
 */
export function toldOf(path: string, error: unknown): unknown {
  if (failureName(error) !== undefined || typeof error !== 'object' || error === null) return error;
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown };
  const known = typeof errno === 'number' ? getSystemErrorMap().get(errno) : undefined;
  if (known === undefined) return error;
  return Object.assign(new Error(`${path}: ${known[1]} (${known[0]})`), {
    code: code ?? known[0],
    path,
    cause: error,
  });
}
