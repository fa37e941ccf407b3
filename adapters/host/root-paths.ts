/**
 * Host paths below a root, as after `chroot`: a path is walked through open directories, and its
 * last component is reached through the open parent (`/proc/self/fd/N/name`), as `openat` does. No
 * rename or link of another writer can lead elsewhere.
 */

import { constants, type Stats } from 'node:fs';
import { posix } from 'node:path';
import { fail } from '../../core/errors';
import type { FileSystem } from './file-system';

const MAX_LINKS = 40;

/** Node has no such constant. */
const O_PATH = 0o10000000;
const DIRECTORY_ONLY = O_PATH | constants.O_DIRECTORY;
const WHATEVER_IT_IS = O_PATH | constants.O_NOFOLLOW;

const WRITABLE_BY_OTHERS = 0o002;
const WRITABLE_BY_GROUP = 0o020;

/** Absolute, normalised, not the root itself. */
export function isPlainPath(path: string): boolean {
  return (
    path.startsWith('/') && path !== '/' && !path.includes('\0') && posix.normalize(path) === path
  );
}

/** The caller closes it. */
export interface Parent {
  readonly fd: number;
  readonly directory: string;
  readonly name: string;
  /** The path, through the open directory. */
  readonly target: string;
  close(): void;
}

/**
 * Undefined when the parent is missing or is no directory.
 *
 * Links among the parents are followed inside the root (`/home` → `var/home`), but only root's
 * links, in places where only root can make them. The last component is not followed, because it
 * gets replaced.
 *
 * @param root - a real path without links
 * @throws `ApplyFailed` naming a parent link that is not root's, or a loop of links (code `ELOOP`);
 *   an error with code `EINVAL` for a path that is not absolute or not normalised
 */
export function openParent(fs: FileSystem, root: string, path: string): Parent | undefined {
  if (!isPlainPath(path)) throw pathError('EINVAL', `not an absolute, normalised path: ${path}`);
  const direct = openDirect(fs, root, posix.dirname(path));
  if (direct === 'missing') return undefined;
  const fd = direct ?? new Walk(fs, root, path).toParent();
  if (fd === undefined) return undefined;
  const directory = `/proc/self/fd/${fd}`;
  const name = posix.basename(path);
  const target = `${directory}/${name}`;
  return { fd, directory, name, target, close: () => fs.closeSync(fd) };
}

/**
 * A path without links takes one call. Only below the machine's own root, a missing directory is
 * surely missing; below other roots, links may lead elsewhere.
 */
function openDirect(fs: FileSystem, root: string, parent: string): number | 'missing' | undefined {
  const expected = parent === '/' ? root : `${root === '/' ? '' : root}${parent}`;
  let fd: number | undefined;
  try {
    fd = openIfThere(fs, expected, DIRECTORY_ONLY);
  } catch (error) {
    // The walk names the path.
    if (hasCode(error, 'ELOOP')) return undefined;
    throw error;
  }
  if (fd === undefined) {
    return root === '/' || isPlainlyMissing(fs, root, parent) ? 'missing' : undefined;
  }
  if (fs.readlinkSync(`/proc/self/fd/${fd}`, 'utf8') === expected) return fd;
  fs.closeSync(fd);
  return undefined;
}

function isPlainlyMissing(fs: FileSystem, root: string, directory: string): boolean {
  if (directory === '/') return false;
  const above = posix.dirname(directory);
  const fd = openDirect(fs, root, above);
  if (fd === undefined || fd === 'missing') return fd === 'missing';
  try {
    return lookUp(fs, `/proc/self/fd/${fd}/${posix.basename(directory)}`) === undefined;
  } finally {
    fs.closeSync(fd);
  }
}

class Walk {
  readonly #open: number[] = [];
  readonly #fs: FileSystem;
  readonly #root: string;
  readonly #path: string;

  constructor(fs: FileSystem, root: string, path: string) {
    this.#fs = fs;
    this.#root = root;
    this.#path = path;
  }

  /** Undefined when the parent is missing. */
  toParent(): number | undefined {
    try {
      const root = openIfThere(this.#fs, this.#root, DIRECTORY_ONLY);
      if (root === undefined) return undefined;
      this.#open.push(root);
      return this.#walk() ? this.#open.pop() : undefined;
    } finally {
      for (const fd of this.#open) this.#fs.closeSync(fd);
    }
  }

  #walk(): boolean {
    const pending = componentsOf(posix.dirname(this.#path));
    let links = 0;
    for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
      if (part === '..') {
        this.#backTo(Math.max(1, this.#open.length - 1));
        continue;
      }
      const target = this.#step(part);
      if (target === undefined) return false;
      if (target === '') continue;
      links += 1;
      if (links > MAX_LINKS) throw circle(this.#path);
      if (target.startsWith('/')) this.#backTo(1);
      pending.unshift(...componentsOf(target));
    }
    return true;
  }

  /**
   * Enters a directory and returns '', or returns the target of a link; undefined = neither exists.
   */
  #step(part: string): string | undefined {
    const here = this.#open.at(-1) ?? 0;
    const next = `/proc/self/fd/${here}/${part}`;
    const fd = openIfThere(this.#fs, next, WHATEVER_IT_IS);
    if (fd === undefined) return undefined;
    const stats = this.#fs.fstatSync(fd);
    if (stats.isDirectory()) {
      this.#open.push(fd);
      return '';
    }
    this.#fs.closeSync(fd);
    if (!stats.isSymbolicLink()) return undefined;
    this.#refuseForeign(part, stats, this.#fs.fstatSync(here));
    return this.#fs.readlinkSync(next, 'utf8');
  }

  /** Only root can then change the link between two reads. */
  #refuseForeign(part: string, link: Stats, directory: Stats): void {
    const why = !isTrusted(link)
      ? `user ${link.uid} made it`
      : !isTrusted(directory) || isOpenToOthers(directory)
        ? 'it is in a directory that others may write to'
        : undefined;
    if (why === undefined) return;
    throw fail(
      'ApplyFailed',
      `reach ${this.#path}: its parent "${part}" is a link that is not followed, because ${why}`,
      { path: this.#path },
    );
  }

  #backTo(length: number): void {
    for (const fd of this.#open.splice(length)) this.#fs.closeSync(fd);
  }
}

function componentsOf(path: string): string[] {
  return path.split('/').filter((piece) => piece !== '' && piece !== '.');
}

/** Owned by root, or by an unprivileged process with a root directory of its own. */
function isTrusted({ uid }: Stats): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

function isOpenToOthers({ mode, gid }: Stats): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0 || ((mode & WRITABLE_BY_GROUP) !== 0 && gid !== 0);
}

function openIfThere(fs: FileSystem, path: string, flags: number): number | undefined {
  try {
    return fs.openSync(path, flags);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

export function lookUp(fs: FileSystem, real: string): Stats | undefined {
  try {
    return fs.lstatSync(real, { throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  );
}

function circle(path: string): Error {
  const error = fail('ApplyFailed', `reach ${path}: links among its parents lead in a circle`, {
    path,
  });
  return Object.assign(error, { code: 'ELOOP' });
}

function pathError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
