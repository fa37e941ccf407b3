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

type Looking = Pick<
  typeof sync,
  | 'accessSync'
  | 'closeSync'
  | 'fstatSync'
  | 'lstatSync'
  | 'openSync'
  | 'readdirSync'
  | 'readFileSync'
  | 'readlinkSync'
  | 'readSync'
  | 'realpathSync'
  | 'statfsSync'
>;
type Changing = Pick<typeof promises, 'mkdir' | 'open' | 'rename' | 'rmdir' | 'symlink' | 'unlink'>;

export type FileSystem = Looking & Changing;

/** The real thing. */
export const NODE_FILE_SYSTEM: FileSystem = {
  accessSync: sync.accessSync,
  closeSync: sync.closeSync,
  fstatSync: sync.fstatSync,
  lstatSync: sync.lstatSync,
  openSync: sync.openSync,
  readdirSync: sync.readdirSync,
  readFileSync: sync.readFileSync,
  readlinkSync: sync.readlinkSync,
  readSync: sync.readSync,
  realpathSync: sync.realpathSync,
  statfsSync: sync.statfsSync,
  mkdir: promises.mkdir,
  open: promises.open,
  rename: promises.rename,
  rmdir: promises.rmdir,
  symlink: promises.symlink,
  unlink: promises.unlink,
};
