/** Follows files: mounted Secrets, renewed certificates. */

import { type FSWatcher, readlinkSync, statSync, watch } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { messageOf } from '../core/errors';

export interface FollowLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** For a directory that cannot be watched now (too many watches, no permission). */
const RETRY_MS = 10_000;
/** As many as Linux follows. */
const MAX_LINKS = 40;
/** Several files, or the links of a mounted Secret, change within a moment. */
const SETTLE_MS = 200;

/**
 * Calls back after one of the files has changed, until the signal aborts. Follows links, and
 * watches the nearest existing parent of a missing directory.
 *
 * @param files - a function is evaluated again after every change
 */
export function followFiles(
  files: readonly string[] | (() => readonly string[]),
  changed: () => void,
  { signal, log }: { readonly signal: AbortSignal; readonly log: FollowLog },
): void {
  const watchers = new Map<string, Watched>();
  let wanted: ReadonlySet<string> = new Set();
  let ends: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let due = Infinity;
  let hasNews = false;
  const soon = (afterMs = SETTLE_MS): void => {
    const at = performance.now() + afterMs;
    // Constant changes, such as of a log, must not delay the call for ever.
    if (at >= due) return;
    due = at;
    clearTimeout(timer);
    timer = setTimeout(() => {
      due = Infinity;
      // A link may have a new target.
      const hasCome = follow();
      // Changes beside a missing directory are no news.
      if (!hasNews && !hasCome) return;
      hasNews = false;
      changed();
    }, afterMs);
    timer.unref();
  };
  const lost = (directory: string, error: unknown): void => {
    log.warn({ directory, reason: messageOf(error) }, 'files are not followed; will try again');
    watchers.get(directory)?.watcher.close();
    watchers.delete(directory);
    hasNews = true;
    if (!signal.aborted) soon(RETRY_MS);
  };
  /** True = another directory is watched, or a link has a new target. */
  const follow = (): boolean => {
    const listed = typeof files === 'function' ? files() : files;
    const ways = listed.map((file) => ({ file, ...wayTo(file) }));
    const before = ends;
    ends = JSON.stringify(ways.map(({ end }) => end));
    let hasCome = before !== undefined && ends !== before;
    wanted = new Set(ways.flatMap(({ file, end }) => [dirname(file), dirname(end)]));
    const links = ways.flatMap((way) => way.links);
    const places = new Set([...[...wanted].map(nearestDirectory), ...links]);
    for (const [directory, { watcher, inode }] of watchers) {
      if (places.has(directory) && isStill(directory, inode)) continue;
      watcher.close();
      watchers.delete(directory);
    }
    for (const directory of places) {
      if (watchers.has(directory)) continue;
      try {
        const inode = inodeOf(directory);
        if (inode === undefined) continue;
        const watcher = watch(directory, { persistent: false }, () => {
          hasNews ||= wanted.has(directory);
          soon();
        });
        watcher.on('error', (error) => lost(directory, error));
        watchers.set(directory, { watcher, inode });
        hasCome ||= wanted.has(directory);
      } catch (error) {
        lost(directory, error);
      }
    }
    return hasCome;
  };
  follow();
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    for (const { watcher } of watchers.values()) watcher.close();
  });
}

interface Watched {
  readonly watcher: FSWatcher;
  /** Another inode = the directory was replaced, and its watcher sees nothing. */
  readonly inode: bigint;
}

/** Opening a directory without a readable inode again reports the cause. */
function isStill(directory: string, inode: bigint): boolean {
  try {
    return inodeOf(directory) === inode;
  } catch {
    return false;
  }
}

/** Opening an unreadable directory reports the cause. */
function nearestDirectory(directory: string): string {
  const around = dirname(directory);
  try {
    if (around === directory || inodeOf(directory) !== undefined) return directory;
  } catch {
    return directory;
  }
  return nearestDirectory(around);
}

function inodeOf(directory: string): bigint | undefined {
  return statSync(directory, { bigint: true, throwIfNoEntry: false })?.ino;
}

/**
 * The final place of the file, and the directories of its links: files are replaced by renaming.
 * For a dangling link, the place it names.
 */
function wayTo(file: string): { readonly end: string; readonly links: readonly string[] } {
  const links: string[] = [];
  const { root } = parse(resolve(file));
  let end = root;
  let rest = namesOf(resolve(file));
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const target = links.length < MAX_LINKS ? targetOf(join(end, name)) : undefined;
    if (target === undefined) {
      end = join(end, name);
    } else {
      links.push(end);
      rest = [...namesOf(resolve(end, target)), ...rest];
      end = root;
    }
  }
  return { end, links };
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== '');
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // The watch of the directory reports when it appears.
    return undefined;
  }
}
