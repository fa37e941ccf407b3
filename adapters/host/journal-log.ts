/**
 * The format of the journal's log: one line per entry, `<checksum> <JSON>`. Each checksum covers the
 * one before it, so that a changed, missing or swapped line is noticed.
 */

import { createHash } from 'node:crypto';
import type { Attributes } from './attributes';
import type { Packed } from './file-parts';
import type { Seal } from './journal-seal';

/** Bytes of a before-image: here in base64, or a stretch of the pack beside the log. */
export type ImageContent = { readonly content: string } | { readonly packed: Packed };

/** What was at a path before the first change of it. */
export type BeforeImage =
  | { readonly kind: 'absent' }
  | ({
      readonly kind: 'file';
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      /** Absent = it had none. */
      readonly attributes?: Attributes;
      /** The update changes the entry of this account alone; absent = the whole file. */
      readonly entryOf?: string;
    } & ImageContent)
  | { readonly kind: 'symlink'; readonly target: string; readonly attributes?: Attributes }
  | {
      readonly kind: 'directory';
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    };

/** A directory that leads to a path that is changed, and is not changed itself. */
export interface ParentImage {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Absent = it had none. */
  readonly attributes?: Attributes;
}

export type JournalEntry =
  /** The first entry: what the update is. */
  | { readonly type: 'begin'; readonly version: number; readonly header: unknown }
  /** Written before the path is changed. */
  | { readonly type: 'before'; readonly path: string; readonly image: BeforeImage }
  /** How it is made again when somebody has removed it. */
  | { readonly type: 'parent'; readonly path: string; readonly image: ParentImage }
  /** A file that is made to take room for the way back, and has nothing in it. */
  | { readonly type: 'room'; readonly path: string }
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

/** How much of a log is known to have been durable. */
export type SealedPart = Pick<Seal, 'length' | 'checksum'>;

/**
 * Reads a log. An append that a crash cut off is dropped: its change was never made, because an entry
 * is synced before the change. Everything else that does not check out is a fault, and nothing of
 * such a log may be used.
 *
 * @param sealed - absent = not known: an end is then judged by how it looks
 */
export function readLog(bytes: Buffer, sealed?: SealedPart): ReadLog | LogFault {
  const log = readEntries(bytes, sealed);
  if ('fault' in log || sealed === undefined || log.length > sealed.length) return log;
  if (log.length === sealed.length) {
    const isSame = sealed.length === 0 || log.checksum === sealed.checksum;
    return isSame ? log : { fault: 'its last entry is not the one that was written' };
  }
  return { fault: `${sealed.length} bytes were written, ${log.length} of them are left` };
}

function readEntries(bytes: Buffer, sealed: SealedPart | undefined): ReadLog | LogFault {
  const entries: JournalEntry[] = [];
  let checksum = FIRST_CHECKSUM;
  let length = 0;
  while (length < bytes.length) {
    const end = bytes.indexOf(0x0a, length);
    const line = bytes.subarray(length, end === -1 ? bytes.length : end).toString('utf8');
    const entry = end === -1 ? undefined : decodeEntry(line, checksum);
    if (entry === undefined) {
      const isUnfinished =
        sealed === undefined ? isTorn(bytes, length) : isCutOff(bytes, length, sealed);
      return isUnfinished
        ? { entries, checksum, length, torn: true }
        : { fault: `entry ${entries.length + 1} does not match its checksum` };
    }
    entries.push(entry);
    checksum = line.slice(0, 64);
    length = end + 1;
  }
  return { entries, checksum, length, torn: false };
}

/** Nobody acted on what follows the sealed part; and a file that ends too early is told as such. */
function isCutOff(bytes: Buffer, from: number, sealed: SealedPart): boolean {
  return from >= sealed.length || bytes.length < sealed.length;
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
