/**
 * Watches paths through inotify on the directories that lead to them, because files are replaced by
 * renaming and directories come and go.
 */

import { type FSWatcher, statSync, watch } from 'node:fs';
import { posix } from 'node:path';
import { hasCode } from './root-paths';
import { realPath } from './watch-probe';

export interface PathWatch {
  /** A path and its parents need not exist. In a directory, every name counts. */
  set(wanted: { readonly paths: Iterable<string>; readonly directories?: Iterable<string> }): void;
  close(): void;
}

export interface PathWatchOptions {
  readonly root: string;
  /** Called many times for one change. */
  readonly onTouched: (path: string) => void;
  /** The directory is not watched, usually because of the kernel's limit. Once per directory. */
  readonly onTrouble: (directory: string, reason: string) => void;
}

/** `identity` shows when another directory has taken its place. */
interface Watched {
  readonly watcher: FSWatcher;
  readonly identity: string;
}

export function createPathWatch(options: PathWatchOptions): PathWatch {
  return new DirectoryWatch(options);
}

class DirectoryWatch implements PathWatch {
  readonly #options: PathWatchOptions;
  /** Directory → names in it; true: the name is itself a wanted path. */
  #chain = new Map<string, Set<string>>();
  #paths = new Set<string>();
  #directories = new Set<string>();
  readonly #watched = new Map<string, Watched>();
  readonly #troubled = new Set<string>();

  constructor(options: PathWatchOptions) {
    this.#options = options;
  }

  set(wanted: Parameters<PathWatch['set']>[0]): void {
    this.#paths = new Set(wanted.paths);
    this.#directories = new Set(wanted.directories ?? []);
    this.#chain = new Map();
    for (const path of [...this.#paths, ...this.#directories]) {
      for (let at = path; at !== '/'; at = posix.dirname(at)) {
        const names = this.#chain.get(posix.dirname(at)) ?? new Set();
        this.#chain.set(posix.dirname(at), names.add(posix.basename(at)));
      }
    }
    for (const directory of this.#directories) {
      if (!this.#chain.has(directory)) this.#chain.set(directory, new Set());
    }
    for (const [directory, { watcher }] of this.#watched) {
      if (this.#chain.has(directory)) continue;
      watcher.close();
      this.#watched.delete(directory);
    }
    for (const directory of this.#chain.keys()) this.#arm(directory);
  }

  close(): void {
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
    this.#chain.clear();
    this.#paths.clear();
    this.#directories.clear();
  }

  #arm(directory: string, isAnother = false): void {
    // `/home` may be a link.
    const inside = realPath(this.#options.root, posix.join(directory, 'any'));
    const place = inside === undefined ? undefined : posix.dirname(inside);
    const identity = place === undefined ? undefined : identityOf(place);
    const known = this.#watched.get(directory);
    if (!isAnother && known !== undefined && known.identity === identity) return;
    known?.watcher.close();
    this.#watched.delete(directory);
    if (place === undefined || identity === undefined) return;
    try {
      const watcher = watch(place, { persistent: false }, (_event, name) =>
        this.#heard(directory, name),
      );
      watcher.on('error', (error) => this.#lost(directory, watcher, error));
      this.#watched.set(directory, { watcher, identity });
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return;
      this.#tell(directory, error);
    }
  }

  #heard(directory: string, name: string | null): void {
    const names = this.#chain.get(directory);
    if (names === undefined) return;
    if (this.#directories.has(directory)) this.#options.onTouched(directory);
    const touched = name === null ? names : names.has(name) ? [name] : [];
    for (const each of touched) this.#changed(posix.join(directory, each));
  }

  /** All wanted paths below a directory may have changed. */
  #changed(path: string): void {
    if (this.#paths.has(path)) this.#options.onTouched(path);
    if (!this.#chain.has(path)) return;
    const isBelow = (other: string): boolean => other === path || other.startsWith(`${path}/`);
    // Inode numbers are reused.
    for (const directory of this.#chain.keys()) if (isBelow(directory)) this.#arm(directory, true);
    for (const wanted of [...this.#paths, ...this.#directories]) {
      if (isBelow(wanted)) this.#options.onTouched(wanted);
    }
  }

  #lost(directory: string, watcher: FSWatcher, error: unknown): void {
    watcher.close();
    if (this.#watched.get(directory)?.watcher === watcher) this.#watched.delete(directory);
    this.#tell(directory, error);
  }

  #tell(directory: string, error: unknown): void {
    if (this.#troubled.has(directory)) return;
    this.#troubled.add(directory);
    this.#options.onTrouble(directory, error instanceof Error ? error.message : String(error));
  }
}

function identityOf(real: string): string | undefined {
  try {
    const stats = statSync(real, { throwIfNoEntry: false });
    return stats?.isDirectory() === true ? `${stats.dev} ${stats.ino}` : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}
