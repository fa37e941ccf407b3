/**
 * A host obeys the newest update whose order it accepted. It refuses orders of earlier updates, and
 * those that continue an update that was rolled back.
 */

import { isRecord } from '../../core/is-record';
import { fail } from '../../core/errors';
import type {
  ConfigReference,
  HostActivities,
  HostOrder,
  UpdateOrder,
} from '../../workflows/contracts/host';
import { refuseExpired } from '../orders/expiry';
import { poolAfter, type PoolRecord } from '../orders/pool-record';
import { atBest, type Files, type HostPorts, type UpdateHeader } from '../ports';
import { readCurrentConfig, readPrivate, sameConfig, writePrivate } from './configs';

const RUNS_FILE = '/var/lib/slipway/runs.json';
/** Orders of older runs have expired. */
const RUNS_KEPT = 64;

interface Runs extends PoolRecord {
  readonly current?: string;
  /** The target of the current run. */
  readonly config?: ConfigReference;
  /** The host has prepared the update of the current run. */
  readonly prepared?: true;
  /** The update of the current run was committed: its orders to go on are refused. */
  readonly committed?: true;
  /** The update of the current run was rolled back: its orders are refused. */
  readonly isBack?: boolean;
  /** A sentence. Absent: an order asked for the rollback. */
  readonly because?: string;
  /**
   * How an update to `config` failed, the current or an earlier lost one; a sentence. Absent: none
   * failed, or the node shows it.
   */
  readonly failed?: string;
  readonly past: readonly string[];
}

/** Steps that begin or continue an update. Rollback and cleaning up can be repeated. */
const GOING_ON: readonly (keyof HostActivities)[] = [
  'prepareUpdate',
  'applyUpdate',
  'performServiceActions',
  'armReboot',
];

/** These must work on a full disk; they can be repeated if nothing was recorded. */
const WAY_BACK: readonly (keyof HostActivities)[] = ['goBack', 'verifyBack', 'discardStaged'];

export function goesOn(step: keyof HostActivities): boolean {
  return GOING_ON.includes(step);
}

export function isWayBack(step: keyof HostActivities): boolean {
  return WAY_BACK.includes(step);
}

/**
 * Refuses an order of an update that is over for this host. Records a new one, with the failure of
 * a lost update to the same config.
 *
 * @throws `OrderRefused`, `EarlierUpdateFailed`
 */
export async function followRun(
  ports: Pick<HostPorts, 'files' | 'warn' | 'now'>,
  step: keyof HostActivities,
  order: HostOrder,
): Promise<void> {
  const { files } = ports;
  const { orderId, config } = order;
  const run = runOf(orderId);
  if (run === undefined) return;
  const runs = await readRuns(files);
  if (runs.past.includes(run)) {
    throw fail('OrderRefused', `order ${orderId} is of an update that a later one has replaced`);
  }
  if (run === runs.current) {
    refuseOver(runs, step, order);
    if (step !== 'prepareUpdate' && goesOn(step) && runs.prepared !== true) throw unprepared(order);
    return;
  }
  if (!mayBegin(runs, step)) throw unprepared(order);
  refuseExpired(ports, order);
  const pool = step === 'prepareUpdate' ? await poolBy(files, runs, order) : poolOf(runs);
  const past = [...runs.past, ...(runs.current === undefined ? [] : [runs.current])];
  const next = {
    ...{ ...pool, current: run, config, ...unsaid(runs, order) },
    past: past.slice(-RUNS_KEPT),
  };
  const write = () => writeRuns(files, next);
  if (isWayBack(step)) await atBest(ports, 'cannot record which update this is', write);
  else await write();
}

/**
 * An update begins with its preparation. One that a host never heard of may drop what is staged; and a host without a
 * record, as a new machine, may be asked what it has, and be told to go back.
 */
function mayBegin({ current }: Runs, step: keyof HostActivities): boolean {
  if (step === 'prepareUpdate' || step === 'discardStaged') return true;
  return current === undefined && !goesOn(step);
}

function unprepared({ orderId, node }: HostOrder): Error {
  return fail(
    'OrderRefused',
    `order ${orderId} is out of turn: ${node} has not prepared its update`,
  );
}

async function poolBy(files: Files, runs: Runs, order: HostOrder): Promise<PoolRecord> {
  return poolAfter(runs, order, (await readCurrentConfig(files))?.reference.name);
}

function poolOf({ pool, generations, ranBefore }: Runs): PoolRecord {
  return {
    ...(pool === undefined ? {} : { pool }),
    ...(generations === undefined ? {} : { generations }),
    ...(ranBefore === undefined ? {} : { ranBefore }),
  };
}

/** Its other orders may follow. */
export async function notePrepared(files: Files, { orderId }: HostOrder): Promise<void> {
  const runs = await readRuns(files);
  if (runs.current !== runOf(orderId) || runs.prepared === true) return;
  await writeRuns(files, { ...runs, prepared: true });
}

/** No order can begin it again. */
export async function noteCommitted(files: Files, { orderId }: HostOrder): Promise<void> {
  const runs = await readRuns(files);
  if (runs.current !== runOf(orderId) || runs.committed === true) return;
  await writeRuns(files, { ...runs, committed: true });
}

/** A failure that the node does not show. */
function unsaid(
  { config, failed }: Runs,
  { afterLost, config: wanted }: HostOrder,
): Pick<Runs, 'failed'> {
  if (afterLost !== true || failed === undefined || config === undefined) return {};
  return sameConfig(config, wanted) ? { failed } : {};
}

/**
 * Only the order to prepare receives the failure of a lost update; it first finishes its rollback.
 */
function refuseOver(
  { isBack, because, failed, committed }: Runs,
  step: keyof HostActivities,
  order: HostOrder,
): void {
  if (!goesOn(step)) return;
  if (isBack === true) throw takenBack(order.orderId, because ?? failed);
  if (committed === true) {
    throw fail('OrderRefused', `order ${order.orderId} is of an update that is committed`);
  }
  if (failed !== undefined && step !== 'prepareUpdate') throw failedEarlier(order, failed);
}

export function failedEarlier({ node, config }: UpdateOrder, failed: string): Error {
  const what = `${config.name} has failed on ${node} in an update that was lost: ${failed}`;
  return fail('EarlierUpdateFailed', what);
}

/** Of an update to the config of this order; undefined = not known. */
export async function failedBefore(
  files: Files,
  { orderId }: UpdateOrder,
): Promise<string | undefined> {
  const { current, failed } = await readRuns(files);
  return current !== undefined && current === runOf(orderId) ? failed : undefined;
}

/** For later orders of this update, and for the next update. */
export async function noteFailed(
  files: Files,
  { orderId }: UpdateOrder,
  failed: string,
): Promise<void> {
  const runs = await readRuns(files);
  if (runs.current !== runOf(orderId) || runs.failed !== undefined) return;
  await writeRuns(files, { ...runs, failed });
}

/**
 * From here on the update of this order can only end.
 *
 * @param failed - how it failed; undefined = it did not
 */
export async function noteBack(
  files: Files,
  { orderId }: HostOrder,
  failed?: string,
): Promise<void> {
  const run = runOf(orderId);
  const runs = await readRuns(files);
  if (run === undefined || run !== runs.current) return;
  // A rollback keeps the failure of the lost update that it follows.
  const news = failed === undefined || runs.failed !== undefined ? {} : { failed };
  if (runs.isBack === true && news.failed === undefined) return;
  await writeRuns(files, { ...runs, ...news, isBack: true });
}

interface BackAlone {
  readonly because: string;
  /** Also when a later run to the same config has taken the update over. */
  readonly takenOverToo: boolean;
}

/**
 * For a rollback without an order: of the run that began the update or took it over. A run to
 * another config continues.
 */
export async function noteBackAlone(
  files: Files,
  { orderId, target }: Pick<UpdateHeader, 'orderId' | 'target'>,
  { because, takenOverToo }: BackAlone,
): Promise<void> {
  const runs = await readRuns(files);
  const { current, config } = runs;
  if (current === undefined || runs.isBack === true) return;
  const isTakenOver = takenOverToo && config !== undefined && sameConfig(config, target);
  if (current === runOf(orderId) || isTakenOver)
    await writeRuns(files, { ...runs, isBack: true, because });
}

/** @param because - a sentence; undefined = an order asked for it */
export function takenBack(orderId: string, because: string | undefined): Error {
  const why = because === undefined ? '' : `: ${because}`;
  return fail('OrderRefused', `order ${orderId} is of an update that was rolled back${why}`);
}

export function isOfRun(orderId: string, other: string): boolean {
  const run = runOf(orderId);
  return run !== undefined && run === runOf(other);
}

/** An order ID is workflow ID, run and step. */
function runOf(orderId: string): string | undefined {
  const end = orderId.lastIndexOf('/');
  return end <= 0 ? undefined : orderId.slice(0, end);
}

async function readRuns(files: Files): Promise<Runs> {
  const runs = await readPrivate(files, RUNS_FILE);
  // Only this module writes it; a damaged file must not make the host refuse every order.
  return isRecord(runs) && Array.isArray(runs['past']) ? (runs as unknown as Runs) : { past: [] };
}

function writeRuns(files: Files, runs: Runs): Promise<void> {
  return writePrivate(files, RUNS_FILE, JSON.stringify(runs));
}
