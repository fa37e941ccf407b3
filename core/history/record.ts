/**
 * What was done with a Node or a pool, kept in an annotation of it: a JSON list, newest first, bounded. It is written in
 * a PATCH that is made anyway, and nothing is decided by it.
 */

import { cut } from '../encoding/one-line';
import { ANNOTATION } from '../names';
import type { NodePhase } from '../node/lifecycle';
import type { ObjectMeta } from '../object-meta';
import type { NamedReason } from '../rollout/progress';

/** What a person has said. Times are RFC 3339. */
export interface WordRecord {
  readonly at: string;
  readonly word: 'start' | 'cancel' | 'pause' | 'resume' | 'retry' | 'skip';
  readonly by?: string;
  readonly reason?: string;
}

/** On a Node: an update that took it, or that failed. */
export interface UpdateRecord {
  /** Run ID in Temporal. */
  readonly run: string;
  readonly config: string;
  /** What the node was on; absent = on none, or on the same. */
  readonly from?: string;
  readonly startedAt: string;
  /** Absent = nobody knows when it ended. */
  readonly endedAt?: string;
  /** `lost`: it ended without a word, and a later update took the node up. */
  readonly outcome: 'updated' | 'failed' | 'cancelled' | 'lost';
  /** The phase in which it failed or was cancelled. */
  readonly phase?: NodePhase;
  readonly reason?: string;
  /** By phase, in order. */
  readonly seconds?: PhaseSeconds;
  /** Its host could not be taken back, so that the node stayed out of service. */
  readonly stuck?: true;
  /** The node was taken back to what it was on before an earlier update. */
  readonly takesBack?: true;
}

export type PhaseSeconds = Readonly<Partial<Record<NodePhase, number>>>;

/** On a pool: the time in which it was brought to one config. */
export interface PoolRecord {
  readonly config: string;
  readonly startedAt: string;
  /** Absent = it goes on. */
  readonly endedAt?: string;
  readonly outcome?: 'Completed' | 'Cancelled' | 'Retargeted';
  /** Of the nodes at its end; absent = nobody knows them. */
  readonly counts?: Readonly<Record<'machines' | 'updated' | 'failed' | 'held', number>>;
  /** At its end: the first of those that were not on the config. */
  readonly failed?: readonly NamedReason[];
  readonly held?: readonly NamedReason[];
  /** The last times when no node could begin. */
  readonly stood?: readonly Standstill[];
}

export interface Standstill {
  readonly state: 'Paused' | 'Halted';
  readonly since: string;
  /** Absent = it stands still. */
  readonly until?: string;
  readonly reason?: string;
}

export type HistoryRecord = WordRecord | UpdateRecord | PoolRecord;

export interface Kept {
  readonly metadata: Pick<ObjectMeta, 'annotations'>;
}

export interface History {
  /** Newest first. */
  readonly records: readonly HistoryRecord[];
  /** Why the annotation is not readable. */
  readonly unreadable?: string;
}

/** Words, and the others, of one object; and what they may take together. */
export interface Bounds {
  readonly words: number;
  readonly others: number;
  readonly bytes: number;
}

export const NODE_BOUNDS: Bounds = { words: 10, others: 10, bytes: 4 * 1024 };
export const POOL_BOUNDS: Bounds = { words: 30, others: 30, bytes: 16 * 1024 };
export const REASON_AT_MOST = 200;
const BY_AT_MOST = 100;
/** Kubernetes refuses an object with annotations of more than 256 KiB. */
const UNREADABLE_AT_MOST = 32 * 1024;
const NO_RECORDS: readonly HistoryRecord[] = [];

export function historyOf({ metadata }: Kept): History {
  const text = metadata.annotations?.[ANNOTATION.HISTORY];
  if (text === undefined) return { records: NO_RECORDS };
  try {
    const records: unknown = JSON.parse(text);
    if (Array.isArray(records) && records.every(isRecord)) return { records };
    return { records: NO_RECORDS, unreadable: 'it is no list of records' };
  } catch {
    return { records: NO_RECORDS, unreadable: 'it is no JSON' };
  }
}

/**
 * @param next - gives the list that it gets where nothing is new
 * @returns the annotations to write; none where nothing is new
 */
export function historyWith(
  object: Kept,
  bounds: Bounds,
  next: (records: readonly HistoryRecord[]) => readonly HistoryRecord[],
): Readonly<Record<string, string>> {
  const { records, unreadable } = historyOf(object);
  const wanted = next(records);
  if (wanted === records) return {};
  const before = object.metadata.annotations?.[ANNOTATION.HISTORY];
  return {
    [ANNOTATION.HISTORY]: JSON.stringify(bounded(wanted.map(brief), bounds)),
    ...(unreadable === undefined || before === undefined
      ? {}
      : { [ANNOTATION.HISTORY_UNREADABLE]: cut(before, UNREADABLE_AT_MOST) }),
  };
}

/** A step that is repeated adds nothing: a run is told by its ID, a word by its time. */
export function withRecords(
  records: readonly HistoryRecord[],
  ...added: readonly (HistoryRecord | undefined)[]
): readonly HistoryRecord[] {
  return added.reduce<readonly HistoryRecord[]>(
    (known, record) =>
      record === undefined || known.some((one) => keyOf(one) === keyOf(record))
        ? known
        : [record, ...known],
    records,
  );
}

export function isWord(record: HistoryRecord): record is WordRecord {
  return 'word' in record;
}

export function isUpdate(record: HistoryRecord): record is UpdateRecord {
  return 'run' in record;
}

export function isRollout(record: HistoryRecord): record is PoolRecord {
  return !isWord(record) && !isUpdate(record);
}

function keyOf(record: HistoryRecord): string {
  if (isWord(record)) return `${record.at} ${record.word}`;
  return isUpdate(record) ? record.run : `${record.startedAt} ${record.config}`;
}

function brief(record: HistoryRecord): HistoryRecord {
  if (isRollout(record)) return record;
  const { reason } = record;
  return {
    ...record,
    ...(isWord(record) && record.by !== undefined ? { by: cut(record.by, BY_AT_MOST) } : {}),
    ...(reason === undefined ? {} : { reason: cut(reason, REASON_AT_MOST) }),
  };
}

function bounded(records: readonly HistoryRecord[], bounds: Bounds): readonly HistoryRecord[] {
  const words = records.filter(isWord).slice(0, bounds.words);
  const others = records.filter((record) => !isWord(record)).slice(0, bounds.others);
  const kept = new Set<HistoryRecord>([...words, ...others]);
  const list = records.filter((record) => kept.has(record));
  while (list.length > 1 && bytesOf(list) > bounds.bytes) list.pop();
  return list;
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

const TIMES = ['at', 'startedAt', 'endedAt'];
const TEXTS = [...['word', 'by', 'reason'], ...['run', 'config', 'from', 'outcome', 'phase']];
const NUMBERS = ['seconds', 'counts'];
const LISTS = ['failed', 'held', 'stood'];

/** A person may have edited it. What a later version has added is let through. */
function isRecord(value: unknown): value is HistoryRecord {
  if (!isObject(value)) return false;
  const has = (...keys: readonly string[]): boolean => keys.every((key) => key in value);
  const isKind = has('word') ? has('at') : has('config', 'startedAt');
  return (
    isKind &&
    (!has('run') || has('outcome')) &&
    areAll(value, TIMES, (time) => isText(time) && !Number.isNaN(Date.parse(time))) &&
    areAll(value, TEXTS, isText) &&
    areAll(value, NUMBERS, (one) => isObject(one) && Object.values(one).every(isNumber)) &&
    areAll(value, LISTS, (list) => Array.isArray(list) && list.every(isOfTexts))
  );
}

function areAll(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  is: (one: unknown) => boolean,
): boolean {
  return keys.every((key) => value[key] === undefined || is(value[key]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isOfTexts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}
