/**
 * The format of the journal's log: one line per entry, `<checksum> <JSON>`. Each checksum covers the
 * one before it, so that a changed, missing or swapped line is noticed.
 */

import { createHash } from 'node:crypto';

/** What was at a path before the first change of it. Content is base64. */
export type BeforeImage =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'file';
      readonly content: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: 'directory' };

export type JournalEntry =
  /** The first entry: what the update is. */
  | { readonly type: 'begin'; readonly header: unknown }
  /** Written before the path is changed. */
  | { readonly type: 'before'; readonly path: string; readonly image: BeforeImage }
  /** Something that came about, named by the activities. */
  | { readonly type: 'mark'; readonly mark: unknown };

export interface ReadLog {
  readonly entries: readonly JournalEntry[];
  /** Checksum of the last entry: where the next one is chained on. */
  readonly checksum: string;
  /** Bytes of whole entries; what follows is the torn end of an append that never finished. */
  readonly length: number;
  /** Whether such an end is there. */
  readonly torn: boolean;
}

/** Why a log cannot be used. */
export interface LogFault {
  readonly fault: string;
}

/** Checksum before the first entry. */
export const FIRST_CHECKSUM = '0'.repeat(64);

/** The line of an entry, and its checksum. */
export function encodeEntry(
  entry: JournalEntry,
  previous: string,
): { readonly line: string; readonly checksum: string } {
  const json = JSON.stringify(entry);
  const checksum = checksumOf(previous, json);
  return { line: `${checksum} ${json}\n`, checksum };
}

/**
 * Reads a log. An append that a crash cut off is dropped: its change was never made, because an entry
 * is synced before the change. Everything else that does not check out is a fault, and nothing of
 * such a log may be used.
 */
export function readLog(bytes: Buffer): ReadLog | LogFault {
  const entries: JournalEntry[] = [];
  let checksum = FIRST_CHECKSUM;
  let length = 0;
  while (length < bytes.length) {
    const end = bytes.indexOf(0x0a, length);
    const line = bytes.subarray(length, end === -1 ? bytes.length : end).toString('utf8');
    const entry = end === -1 ? undefined : decodeEntry(line, checksum);
    if (entry === undefined) {
      return isTorn(bytes, length)
        ? { entries, checksum, length, torn: true }
        : { fault: `entry ${entries.length + 1} does not match its checksum` };
    }
    entries.push(entry);
    checksum = line.slice(0, 64);
    length = end + 1;
  }
  return { entries, checksum, length, torn: false };
}

/**
 * Whether the rest of the log is what a crash leaves of an append: cut off before its line end, or
 * blocks that were reserved and never written (zeros). A whole line that is wrong is neither.
 */
function isTorn(bytes: Buffer, from: number): boolean {
  const rest = bytes.subarray(from);
  const zero = rest.indexOf(0);
  const text = zero === -1 ? rest : rest.subarray(0, zero);
  const isZeroToTheEnd = zero === -1 || rest.subarray(zero).every((byte) => byte === 0);
  return isZeroToTheEnd && !text.includes(0x0a);
}

function decodeEntry(line: string, previous: string): JournalEntry | undefined {
  const checksum = line.slice(0, 64);
  const json = line.slice(65);
  if (line[64] !== ' ' || checksum !== checksumOf(previous, json)) return undefined;
  // The checksum proves that these are the bytes of `encodeEntry`.
  return JSON.parse(json) as JournalEntry;
}

function checksumOf(previous: string, json: string): string {
  return createHash('sha256').update(previous).update(json).digest('hex');
}
