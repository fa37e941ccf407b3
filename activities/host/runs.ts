/**
 * Which update a host listens to: the newest whose order it took. Orders of earlier ones that turn up
 * again, from a queue that was slow or from somebody who kept them, are refused, and so are those that
 * would change anything once their update was taken back.
 */

import { fail } from '../../core/errors';
import type {
  ConfigReference,
  HostActivities,
  HostOrder,
} from '../../workflows/activity-contracts';
import { atBest, type Files, type HostPorts, type UpdateHeader } from './ports';
import { isRecord, readPrivate, sameConfig, writePrivate } from './records';

const RUNS_FILE = '/var/lib/slipway/runs.json';
/** Older orders have expired. */
const RUNS_KEPT = 64;

interface Runs {
  readonly current?: string;
  /** What the current run brings the host to. Absent = written by a version that did not note it. */
  readonly config?: ConfigReference;
  /** The update of the current run was taken back: nothing of it is carried out any more. */
  readonly isBack?: boolean;
  /** Why it was; a sentence. Absent = an order said so. */
  readonly because?: string;
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
 * Refuses an order of an update that is over for this host; remembers a new one.
 *
 * @throws `OrderRefused`
 */
export async function followRun(
  ports: Pick<HostPorts, 'files' | 'warn'>,
  step: keyof HostActivities,
  { orderId, config }: HostOrder,
): Promise<void> {
  const { files } = ports;
  const run = runOf(orderId);
  if (run === undefined) return;
  const runs = await readRuns(files);
  if (runs.past.includes(run)) {
    throw fail('OrderRefused', `order ${orderId} is of an update that a later one has replaced`);
  }
  if (run === runs.current) {
    if (runs.isBack !== true || !goesOn(step)) return;
    throw takenBack(orderId, runs.because);
  }
  const past = [...runs.past, ...(runs.current === undefined ? [] : [runs.current])];
  const write = () => writeRuns(files, { current: run, config, past: past.slice(-RUNS_KEPT) });
  if (isWayBack(step)) await atBest(ports, 'cannot note which update this is', write);
  else await write();
}

/** From here on the update of this order only ends. */
export async function noteBack(files: Files, { orderId }: HostOrder): Promise<void> {
  const run = runOf(orderId);
  const runs = await readRuns(files);
  if (run === undefined || run !== runs.current || runs.isBack === true) return;
  await writeRuns(files, { ...runs, isBack: true });
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
