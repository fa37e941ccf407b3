/**
 * The calls of Node that touch a host's files, passed in, so that a test can end the process
 * between any two.
 *
 * Reads take microseconds, so they are synchronous.
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
