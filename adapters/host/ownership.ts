import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { fail } from '../../core/errors';
import type { Owner } from './path-state';

/** `path` is for messages and records. */
export interface Ownership {
  of(path: string, stats: Stats): Owner;
  /** Called before data is written. */
  set(path: string, handle: FileHandle, wanted: Owner): Promise<void>;
}

/** An unchanged owner makes no call: an unprivileged process can write its own files. */
export const REAL_OWNERSHIP: Ownership = {
  of: (_path, stats) => ({ uid: stats.uid, gid: stats.gid }),
  async set(path, handle, wanted) {
    const stats = await handle.stat();
    if (stats.uid === wanted.uid && stats.gid === wanted.gid) return;
    if (process.getuid?.() !== 0) {
      throw fail(
        'ApplyFailed',
        `set owner ${wanted.uid}:${wanted.gid} of ${path}: the host worker does not run as root`,
        { path },
      );
    }
    await handle.chown(wanted.uid, wanted.gid);
  },
};
