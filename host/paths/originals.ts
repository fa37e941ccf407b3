/**
 * Originals: what was at a path before a config first claimed it, in MCO's places: a copy below
 * `orig`, or a stamp below `noorig` for nothing. The original returns when the config drops the
 * path. MCO keeps only files of RPMs.
 *
 * @see MCO pkg/daemon/update.go, createOrigFile and deleteStaleData (7ff337a4)
 */

import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fail } from '../../core/errors';
import { noOriginalPath, ORIGINAL_PLACES, originalPath } from '../../core/machine-config';
import { ROOT_OWNER } from '../../adapters/host';
import type { Files, PathChange, PathFacts, PathState } from '../ports';

const STAMP = { kind: 'file', content: Buffer.alloc(0), mode: 0o644 } as const;
const ABSENT = { kind: 'absent' } as const;

/**
 * A copy keeps its mode, and its original may have been in a directory that only root could enter.
 */
export const ORIGINALS_MODE = 0o700;
const CLOSED = { mode: ORIGINALS_MODE, owner: ROOT_OWNER } as const;

export interface Claim {
  readonly wasOurs: boolean;
  /** Without a record, as after Ignition, the original is what precedes the appended bytes. */
  readonly appended?: Buffer;
}

/**
 * None when the original of the path is known.
 *
 * @param claim - of the current config: if it has the path, the present content is no original
 */
export async function keepOriginal(
  files: Files,
  path: string,
  claim: Claim,
): Promise<readonly PathChange[]> {
  if (await isRemembered(files, path)) return [];
  const kept = originalPath(path);
  if (claim.wasOurs && claim.appended !== undefined) {
    const before = beforeAppending(await files.look(path), claim.appended);
    if (before !== undefined) return [{ path: kept, state: before }];
  }
  const source = claim.wasOurs ? vendorPath(path) : path;
  const now: PathFacts = source === undefined ? ABSENT : await files.facts(source);
  return now.kind === 'file' || now.kind === 'symlink'
    ? [{ path: kept, state: copyOf(source ?? path, now) }]
    : [{ path: noOriginalPath(path), state: { ...STAMP, owner: ROOT_OWNER } }];
}

/**
 * MCO left them readable by everybody. Safe to repeat, and not undone, because no config names
 * their modes.
 */
export async function closeOriginals(files: Files): Promise<void> {
  for (const path of ORIGINAL_PLACES) {
    const now = await files.facts(path);
    const isOpen =
      now.kind === 'directory' && !isDeepStrictEqual(now, { kind: 'directory', ...CLOSED });
    if (isOpen) await files.setDirectory(path, CLOSED);
  }
}

export async function isRemembered(files: Files, path: string): Promise<boolean> {
  if ((await files.facts(noOriginalPath(path))).kind !== 'absent') return true;
  return (await files.facts(originalPath(path))).kind !== 'absent';
}

export async function restoreOriginal(files: Files, path: string): Promise<readonly PathChange[]> {
  const kept = originalPath(path);
  const original = await files.facts(kept);
  if (original.kind === 'file' || original.kind === 'symlink') {
    return [
      { path, state: copyOf(kept, original) },
      { path: kept, state: ABSENT },
    ];
  }
  const stamp = await files.facts(noOriginalPath(path));
  return [
    { path, state: ABSENT },
    ...(stamp.kind === 'absent' ? [] : [{ path: noOriginalPath(path), state: ABSENT }]),
  ];
}

function copyOf(
  path: string,
  facts: Extract<PathFacts, { kind: 'file' | 'symlink' }>,
): PathChange['state'] {
  const attributes = { of: path };
  if (facts.kind === 'symlink') return { kind: 'symlink', target: facts.target, attributes };
  const { mode, owner } = facts;
  return { kind: 'file', content: { path }, mode, owner, attributes };
}

/**
 * Undefined = there was nothing.
 *
 * @throws `ApplyFailed` when it is a link or no file
 */
export async function originalOf(
  files: Files,
  path: string,
  claim: Claim,
): Promise<Extract<PathState, { kind: 'file' }> | undefined> {
  if ((await files.facts(noOriginalPath(path))).kind !== 'absent') return undefined;
  const kept = await files.look(originalPath(path));
  if (kept.kind !== 'absent') return onlyFile(path, kept);
  const now = await files.look(path);
  if (!claim.wasOurs) return onlyFile(path, now);
  const before = claim.appended && beforeAppending(now, claim.appended);
  if (before !== undefined) return before;
  const vendor = vendorPath(path);
  return vendor === undefined ? undefined : onlyFile(path, await files.look(vendor));
}

function onlyFile(
  path: string,
  state: PathState,
): Extract<PathState, { kind: 'file' }> | undefined {
  if (state.kind === 'file') return state;
  if (state.kind === 'absent') return undefined;
  const what = state.kind === 'symlink' ? `a link to ${state.target}` : 'not a file';
  throw fail('ApplyFailed', `append to ${path}: it is ${what} on the host`, { path });
}

/** Undefined when the file does not end with the appended bytes. */
function beforeAppending(
  now: PathState,
  appended: Buffer,
): Extract<PathState, { kind: 'file' }> | undefined {
  if (now.kind !== 'file') return undefined;
  const length = now.content.length - appended.length;
  if (length < 0 || !now.content.subarray(length).equals(appended)) return undefined;
  return { ...now, content: now.content.subarray(0, length) };
}

/** Image-based systems ship the defaults of `/etc` below `/usr/etc`. */
function vendorPath(path: string): string | undefined {
  return path.startsWith('/etc/') ? posix.join('/usr', path) : undefined;
}
