/**
 * Which update a host listens to: the newest whose order it took. Orders of earlier ones that turn up
 * again, from a queue that was slow or from somebody who kept them, are refused, and so are those that
 * would change anything once their update was taken back.
 */

import { fail } from '../../core/errors';
import type { ConfigReference, HostActivities, HostOrder } from '../../workflows/host-contracts';
import { atBest, type Files, type HostPorts, type UpdateHeader } from './ports';
import { isRecord, readPrivate, sameConfig, writePrivate } from './records';

const RUNS_FILE = '/var/lib/slipway/runs.json';
/** Older orders have expired. */
const RUNS_KEPT = 64;

interface Runs {
  readonly current?: string;
  /** What the current run brings the host to. */
  readonly config?: ConfigReference;
  /** The update of the current run was taken back: nothing of it is carried out any more. */
  readonly isBack?: boolean;
  /** Why it was; a sentence. Absent = an order said so. */
  readonly because?: string;
  /**
   * How an update to `config` failed, the current one or one that was lost before it; a sentence. Absent = none did, or
   * the node has said so since.
   */
  readonly failed?: string;
  readonly past: readonly string[];
}

/** What begins or goes on with an update. Taking back and cleaning up does no harm twice. */
const GOING_ON: readonly (keyof HostActivities)[] = [
  'prepareUpdate',
  'applyUpdate',
  'performServiceActions',
  'armReboot',
];

/** These must work on a full disk, and may be carried out again when nothing of them was noted. */
const WAY_BACK: readonly (keyof HostActivities)[] = ['goBack', 'verifyBack', 'discardStaged'];

/** Whether the step begins an update or goes on with it. */
export function goesOn(step: keyof HostActivities): boolean {
  return GOING_ON.includes(step);
}

export function isWayBack(step: keyof HostActivities): boolean {
  return WAY_BACK.includes(step);
}

/**
 * Refuses an order of an update that is over for this host; remembers a new one, and with it how a lost one to the same
 * config failed.
 *
 * @throws `OrderRefused`, `EarlierUpdateFailed`
 */
export async function followRun(
  ports: Pick<HostPorts, 'files' | 'warn'>,
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
    return;
  }
  const past = [...runs.past, ...(runs.current === undefined ? [] : [runs.current])];
  const next = { current: run, config, ...unsaid(runs, order), past: past.slice(-RUNS_KEPT) };
  const write = () => writeRuns(files, next);
  if (isWayBack(step)) await atBest(ports, 'cannot note which update this is', write);
  else await write();
}

/** How a lost update to the ordered config failed: its node has not said so. */
function unsaid(
  { config, failed }: Runs,
  { afterLost, config: wanted }: HostOrder,
): Pick<Runs, 'failed'> {
  if (afterLost !== true || failed === undefined || config === undefined) return {};
  return sameConfig(config, wanted) ? { failed } : {};
}

/** The order to prepare is the one that hears how a lost update failed; it finishes its way back before. */
function refuseOver(
  { isBack, because, failed }: Runs,
  step: keyof HostActivities,
  order: HostOrder,
): void {
  if (!goesOn(step)) return;
  if (isBack === true) throw takenBack(order.orderId, because ?? failed);
  if (failed !== undefined && step !== 'prepareUpdate') throw failedEarlier(order, failed);
}

/** @param failed - how; a sentence */
export function failedEarlier({ node, config }: HostOrder, failed: string): Error {
  const what = `${config.name} has failed on ${node} in an update that was lost: ${failed}`;
  return fail('EarlierUpdateFailed', what);
}

/** How an update to the config of this order failed that was lost before it; undefined = none is known to have. */
export async function failedBefore(
  files: Files,
  { orderId }: HostOrder,
): Promise<string | undefined> {
  const { current, failed } = await readRuns(files);
  return current !== undefined && current === runOf(orderId) ? failed : undefined;
}

/** Remembers that for the update of this order, whose earlier orders may turn up again, and for whoever comes next. */
export async function noteFailed(
  files: Files,
  { orderId }: HostOrder,
  failed: string,
): Promise<void> {
  const runs = await readRuns(files);
  if (runs.current !== runOf(orderId) || runs.failed !== undefined) return;
  await writeRuns(files, { ...runs, failed });
}

/**
 * From here on the update of this order only ends.
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
  // One that goes back because a lost one has failed goes back for that.
  const news = failed === undefined || runs.failed !== undefined ? {} : { failed };
  if (runs.isBack === true && news.failed === undefined) return;
  await writeRuns(files, { ...runs, ...news, isBack: true });
}

interface BackAlone {
  readonly because: string;
  /** Also where a later run has taken the update over, which brings the host to the same config. */
  readonly takenOverToo: boolean;
}

/**
 * The same of an update that no order takes back: of the run that has begun it, or has taken it over. One that brings
 * the host to another config goes on.
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

/** @param because - a sentence; undefined = an order said so */
export function takenBack(orderId: string, because: string | undefined): Error {
  const why = because === undefined ? '' : `: ${because}`;
  return fail('OrderRefused', `order ${orderId} is of an update that was taken back${why}`);
}

/** Whether both orders are of one run of an update. */
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
  // Written by this module only; a damaged one is no reason to refuse every order from now on.
  return isRecord(runs) && Array.isArray(runs['past']) ? (runs as unknown as Runs) : { past: [] };
}

function writeRuns(files: Files, runs: Runs): Promise<void> {
  return writePrivate(files, RUNS_FILE, JSON.stringify(runs));
}
