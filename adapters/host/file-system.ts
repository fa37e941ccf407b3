/**
 * The few calls of `node:fs/promises` that touch a host. Passed in, so that a test can end the process
 * between any two of them.
 */

import * as promises from 'node:fs/promises';

export type FileSystem = Pick<
  typeof promises,
  | 'lstat'
  | 'mkdir'
  | 'open'
  | 'readdir'
  | 'readFile'
  | 'readlink'
  | 'rename'
  | 'rmdir'
  | 'symlink'
  | 'unlink'
>;

/** The real thing. */
export const NODE_FILE_SYSTEM: FileSystem = promises;

/** The same calls, except that a sync does nothing. Handles are made for one use each. */
export function withoutSync(fs: FileSystem = NODE_FILE_SYSTEM): FileSystem {
  return {
    ...fs,
    open: async (...args: Parameters<FileSystem['open']>) =>
      Object.assign(await fs.open(...args), { sync: async () => undefined }),
  };
}
