/**
 * Host paths below a root directory, as after `chroot`: an absolute link target starts at the root
 * again and `..` stops there, so that nothing on the host can lead outside.
 */

import type { Stats } from 'node:fs';
import { posix } from 'node:path';
import type { FileSystem } from './file-system';

/** As many links as Linux follows before it gives up. */
const MAX_LINKS = 40;

/** Whether a path is one that a config may name: absolute, normalised, not the root itself. */
export function isPlainPath(path: string): boolean {
  return (
    path.startsWith('/') && path !== '/' && !path.includes('\0') && posix.normalize(path) === path
  );
}

/**
 * The real path of a host path. Links in its parent directories are followed inside the root; the
 * last component is not followed, because it is what gets replaced. Missing parents are taken as
 * written.
 *
 * @throws an error with code `ELOOP` when links lead in a circle, `EINVAL` for a path that is not
 * absolute or not normalised
 */
export function resolveInRoot(fs: FileSystem, root: string, path: string): string {
  if (!isPlainPath(path)) throw pathError('EINVAL', `not an absolute, normalised path: ${path}`);
  const pending = path.split('/').filter((part) => part !== '');
  const last = pending.pop() ?? '';
  const walked: string[] = [];
  let links = 0;
  while (pending.length > 0) {
    const part = pending.shift() ?? '';
    if (part === '..') {
      walked.pop();
      continue;
    }
    const target = linkTarget(fs, `${[root, ...walked].join('/')}/${part}`);
    if (target === undefined) {
      walked.push(part);
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw pathError('ELOOP', `links lead in a circle: ${path}`);
    if (target.startsWith('/')) walked.length = 0;
    pending.unshift(...target.split('/').filter((piece) => piece !== '' && piece !== '.'));
  }
  return posix.join(root, ...walked, last);
}

/** What is missing, or is below a file, is found out when it is used. */
function linkTarget(fs: FileSystem, real: string): string | undefined {
  const stats = lookUp(fs, real);
  return stats?.isSymbolicLink() === true ? fs.readlinkSync(real, 'utf8') : undefined;
}

/** `lstat`, or undefined when there is nothing. */
export function lookUp(fs: FileSystem, real: string): Stats | undefined {
  try {
    return fs.lstatSync(real, { throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Whether an error is a system error with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  );
}

function pathError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
