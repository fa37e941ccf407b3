/**
 * Whether a new deployment fits into the boot directory. ostree writes kernel and boot loader entry
 * only at the shutdown, too late to find it full.
 */

import { access, constants, lstat, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, messageOf } from '../../../core/errors';
import type { StepContext } from './os-status';
import { hasCode } from '../root-paths';
import type { RunCommand } from './command';
import type { BootNeeds } from './driver';

interface BootRoomParts {
  readonly root: string;
  readonly run: RunCommand;
  /** Absent: the kernel is asked. */
  readonly spaceOf?: (directory: string) => Promise<Space>;
}

export interface Space {
  readonly bytes: number;
  /** Inodes; absent: no limit. */
  readonly files?: number;
}

/** For entries, directories and swapped links. */
const ENTRY_BYTES = 1024 * 1024;
const ENTRY_FILES = 32;
/** One directory per kernel, shared by deployments. */
const KERNELS = 'ostree';
const REMOUNT_TIMEOUT_MS = 60_000;

/**
 * A machine without a boot directory passes.
 *
 * @throws `ApplyFailed` naming the directory, its free space and the need
 */
export async function checkBootRoom(
  { root, run, spaceOf = spaceLeft }: BootRoomParts,
  { kernel }: BootNeeds,
  context: StepContext,
): Promise<void> {
  const boot = join(root, 'boot');
  if (!(await isThere(boot))) return;
  context.progress(`looking at ${boot}`);
  await requireWritable(boot, run, context);
  const { bytes, files } = await spaceOf(boot);
  const needed = ENTRY_BYTES + (kernel ? await kernelBytes(boot) : 0);
  if (bytes < needed) {
    const what = kernel ? 'a deployment with a kernel' : 'an entry of the boot loader';
    throw full(boot, `it has ${bytes} bytes left, ${what} needs ${needed}`);
  }
  if (files !== undefined && files < ENTRY_FILES) {
    throw full(boot, `only ${files} more files fit on it, a deployment needs ${ENTRY_FILES}`);
  }
}

function full(boot: string, why: string): Error {
  const fix = 'remove what does not belong there, or deployments that are not needed';
  return fail('ApplyFailed', `write ${boot}: ${why}; ${fix}`, { path: boot });
}

/**
 * Many machines mount it read-only, and ostree remounts it in its own mount namespace, as this
 * does: a write-protected or damaged disk refuses.
 */
async function requireWritable(
  boot: string,
  run: RunCommand,
  { signal }: StepContext,
): Promise<void> {
  try {
    await access(boot, constants.W_OK);
    return;
  } catch (error) {
    if (!hasCode(error, 'EROFS')) throw unwritable(boot, messageOf(error), error);
  }
  const words = ['--mount', '--propagation', 'private', 'mount', '-o', 'remount,rw', boot];
  const end = await run('unshare', words, { signal, timeoutMs: REMOUNT_TIMEOUT_MS });
  if (end.status === 0) return;
  throw unwritable(boot, `it is read-only, and stays so when it is remounted: ${end.said}`);
}

function unwritable(boot: string, why: string, cause?: unknown): Error {
  const error = fail('ApplyFailed', `write ${boot}: ${why}`, { path: boot });
  return cause === undefined ? error : Object.assign(error, { cause });
}

/** The size of the largest kernel, less those of unbooted deployments, which ostree drops. */
async function kernelBytes(boot: string): Promise<number> {
  const sizes = await Promise.all(
    (await namesIn(join(boot, KERNELS))).map((name) => bytesIn(join(boot, KERNELS, name))),
  );
  const largest = Math.max(0, ...sizes);
  const others = sizes.reduce((sum, size) => sum + size, 0) - largest;
  return Math.max(0, largest - others);
}

async function bytesIn(directory: string): Promise<number> {
  const files = (await namesIn(directory)).map((name) => lstat(join(directory, name)));
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0);
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

async function spaceLeft(directory: string): Promise<Space> {
  const { bavail, bsize, files, ffree } = await statfs(directory);
  // File systems that make inodes on demand report zero.
  return { bytes: bavail * bsize, ...(files === 0 ? {} : { files: ffree }) };
}
