/**
 * The journal's log: one line per entry, `<checksum> <JSON>`. Each checksum covers the previous
 * one, so that a changed, missing or swapped line is noticed.
 */

import { createHash } from 'node:crypto';
import type { Attributes } from './attributes';
import type { Packed } from './file-parts';
import type { Seal } from './journal-seal';

/** In base64, or a part of the pack. */
type ImageContent = { readonly content: string } | { readonly packed: Packed };

/** Before the first change of a path. */
export type BeforeImage =
  | { readonly kind: 'absent' }
  | ({
      readonly kind: 'file';
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      /** Absent: the path had none. */
      readonly attributes?: Attributes;
      /** Only the entry of this account changes. */
      readonly entryOf?: string;
    } & ImageContent)
  | { readonly kind: 'symlink'; readonly target: string; readonly attributes?: Attributes }
  | {
      readonly kind: 'directory';
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    };

/** An unchanged directory that leads to a changed path. */
export interface ParentImage {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly attributes?: Attributes;
}

export type JournalEntry =
  | { readonly type: 'begin'; readonly version: number; readonly header: unknown }
  | { readonly type: 'before'; readonly path: string; readonly image: BeforeImage }
  /** To make it again if it is missing. */
  | { readonly type: 'parent'; readonly path: string; readonly image: ParentImage }
  /** Reserves disk space for the undo. */
  | { readonly type: 'room'; readonly path: string }
  /** Named by the activities. */
  | { readonly type: 'mark'; readonly mark: unknown };

export interface ReadLog {
  readonly entries: readonly JournalEntry[];
  /** Of the last entry; the next one continues from it. */
  readonly checksum: string;
  /** Of whole entries. The torn end of an append may follow. */
  readonly length: number;
  readonly torn: boolean;
}

interface LogFault {
  readonly fault: string;
}

export const FIRST_CHECKSUM = '0'.repeat(64);

export function encodeEntry(
  entry: JournalEntry,
  previous: string,
): { readonly line: string; readonly checksum: string } {
  const json = JSON.stringify(entry);
  const checksum = checksumOf(previous, json);
  return { line: `${checksum} ${json}\n`, checksum };
}

/** Known to be durable. */
type SealedPart = Pick<Seal, 'length' | 'checksum'>;

/**
 * Drops an append that a crash cut off: its change was never made. Anything else that does not
 * verify is a fault, and nothing of the log may be used.
 *
 * @param sealed - absent: not known; the end is then judged by its form
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

/** A file that is too short counts as cut off. */
function isCutOff(bytes: Buffer, from: number, sealed: SealedPart): boolean {
  return from >= sealed.length || bytes.length < sealed.length;
}

/** No line end, or zeros of reserved blocks. A whole line that is wrong is damage. */
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
  // The checksum shows that `encodeEntry` wrote it.
  return JSON.parse(json) as JournalEntry;
}

function checksumOf(previous: string, json: string): string {
  return createHash('sha256').update(previous).update(json).digest('hex');
}
