/**
 * The few calls of Node that touch a host's files. Passed in, so that a test can end the process
 * between any two of them.
 *
 * Looking is synchronous: it is a handful of microseconds, against many times that for a promise and
 * a thread; with hundreds of hosts in a process that is what an update costs. Writing is not, because
 * syncing takes as long as the disk takes.
 */

import * as sync from 'node:fs';
import * as promises from 'node:fs/promises';

type Looking = Pick<typeof sync, 'lstatSync' | 'readdirSync' | 'readFileSync' | 'readlinkSync'>;
type Changing = Pick<typeof promises, 'mkdir' | 'open' | 'rename' | 'rmdir' | 'symlink' | 'unlink'>;

export type FileSystem = Looking & Changing;

/** The real thing. */
export const NODE_FILE_SYSTEM: FileSystem = {
  lstatSync: sync.lstatSync,
  readdirSync: sync.readdirSync,
  readFileSync: sync.readFileSync,
  readlinkSync: sync.readlinkSync,
  mkdir: promises.mkdir,
  open: promises.open,
  rename: promises.rename,
  rmdir: promises.rmdir,
  symlink: promises.symlink,
  unlink: promises.unlink,
};
