/** By `lstat`, and on request by a digest that is read in pieces. */

import { createHash } from 'node:crypto';
import { constants, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { posix } from 'node:path';
import { hasCode } from './root-paths';

/** Equal stamps mean that nothing was written. */
interface ProbedPath {
  readonly kind: 'absent' | 'file' | 'directory' | 'symlink' | 'other';
  /** Permission bits; 0 when absent. */
  readonly mode: number;
  readonly target?: string;
  readonly stamp: string;
}

export interface PathProbe {
  /** @throws an error with a code when the path is unreadable */
  look(path: string): ProbedPath;
  /** Hex. @throws an error with a code when the path is unreadable or no file */
  sha256(path: string): Promise<string>;
}

const ABSENT: ProbedPath = { kind: 'absent', mode: 0, stamp: '' };
const PIECE_BYTES = 64 * 1024;
/** Does not block on a pipe. */
const READ_PLAINLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export function createPathProbe(root: string): PathProbe {
  return {
    look(path) {
      const real = realPath(root, path);
      const stats =
        real === undefined ? undefined : lstatSync(real, { throwIfNoEntry: false, bigint: true });
      if (real === undefined || stats === undefined) return ABSENT;
      const mode = Number(stats.mode & 0o7777n);
      const stamp = [stats.dev, stats.ino, stats.mode, stats.size, stats.mtimeNs, stats.ctimeNs];
      const common = { mode, stamp: stamp.join(' ') };
      if (stats.isSymbolicLink()) return { kind: 'symlink', target: readlinkSync(real), ...common };
      if (stats.isDirectory()) return { kind: 'directory', ...common };
      return { kind: stats.isFile() ? 'file' : 'other', ...common };
    },
    async sha256(path) {
      const real = realPath(root, path);
      if (real === undefined)
        throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
      const handle = await open(real, READ_PLAINLY);
      try {
        if (!(await handle.stat()).isFile()) {
          throw Object.assign(new Error(`not a file: ${path}`), { code: 'EINVAL' });
        }
        const hash = createHash('sha256');
        const piece = Buffer.alloc(PIECE_BYTES);
        for (;;) {
          const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES);
          if (bytesRead === 0) return hash.digest('hex');
          hash.update(piece.subarray(0, bytesRead));
        }
      } finally {
        await handle.close();
      }
    },
  };
}

/** Follows links among the parents, never out of the root; undefined when a parent is missing. */
export function realPath(root: string, path: string): string | undefined {
  try {
    const base = realpathSync(root);
    const parent = realpathSync(posix.join(base, posix.dirname(path)));
    const isInside = parent === base || parent.startsWith(base === '/' ? '/' : `${base}/`);
    return isInside ? posix.join(parent, posix.basename(path)) : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}
