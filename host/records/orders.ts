/** Which orders a host accepts, and its answers to past ones. */

import { fail } from '../../core/errors';
import type { HostActivities, HostOrder } from '../../workflows/contracts/host';
import { refuseExpired } from '../orders/expiry';
import { atBest, type Files, type HostPorts, markOf } from '../ports';
import { openJournal } from '../transaction/open-journal';
import { readPrivate, writePrivate } from './configs';
import { followRun, goesOn, isWayBack, noteCommitted, notePrepared } from './accepted-runs';

const RESULTS_FILE = '/var/lib/slipway/orders.json';
/** An update has nine orders, and one verification per unanswered commit. */
const RESULTS_KEPT = 32;

interface RecordedResult {
  readonly orderId: string;
  readonly result: unknown;
}

/**
 * Orders that only read or roll back never expire: a clock that is set ahead must not prevent a
 * rollback.
 *
 * @throws `OrderRefused`
 */
function checkOrder(
  ports: Pick<HostPorts, 'node' | 'now'>,
  step: keyof HostActivities,
  order: HostOrder,
): void {
  if (order.node !== ports.node) {
    throw fail(
      'OrderRefused',
      `order ${order.orderId} is for ${order.node}, this is ${ports.node}`,
    );
  }
  if (Number.isNaN(Date.parse(order.notAfter))) {
    throw fail('OrderRefused', `order ${order.orderId} has no readable expiry: ${order.notAfter}`);
  }
  if (goesOn(step)) refuseExpired(ports, order);
}

/**
 * A repeated order gets the recorded answer. Failures are not recorded, so they are tried again.
 *
 * @throws `OrderRefused` when the order is for another host, has expired, or is of an update that
 *   is over
 */
export async function once<Result>(
  ports: HostPorts,
  step: keyof HostActivities,
  order: HostOrder,
  carryOut: () => Promise<Result>,
): Promise<Result> {
  checkOrder(ports, step, order);
  await followRun(ports, step, order);
  const recorded = (await readResults(ports.files)).find(
    (entry) => entry.orderId === order.orderId,
  );
  // This function gave the answer under this ID.
  if (recorded !== undefined) return recorded.result as Result;
  if (step === 'commitUpdate') await refuseUnverified(ports, order);
  const result = await carryOut();
  if (step === 'prepareUpdate') await notePrepared(ports.files, order);
  if (step === 'commitUpdate') {
    await atBest(ports, 'cannot record that the update is committed', () =>
      noteCommitted(ports.files, order),
    );
  }
  const others = await readResults(ports.files);
  const entry: RecordedResult = { orderId: order.orderId, result: result ?? null };
  const record = () => writeResults(ports.files, [...others, entry].slice(-RESULTS_KEPT));
  if (isWayBack(step)) await atBest(ports, 'cannot keep the answer to an order', record);
  else await record();
  return result;
}

/** Whoever answers in the place of this host cannot have its commit ordered in vain. */
async function refuseUnverified(ports: HostPorts, { orderId, node }: HostOrder): Promise<void> {
  const journal = await openJournal(ports);
  if (journal === undefined || journal.header.repair === true) return;
  const isProven = (['verified', 'committing', 'goingBack'] as const).some(
    (kind) => markOf(journal, kind) !== undefined,
  );
  if (isProven) return;
  throw fail(
    'OrderRefused',
    `order ${orderId} is out of turn: ${node} has not verified its update`,
  );
}

/** After a rollback no answer is true. */
export async function forgetResults(files: Files): Promise<void> {
  // Needs no space: the disk may be full.
  await files.remove(RESULTS_FILE);
}

async function readResults(files: Files): Promise<readonly RecordedResult[]> {
  const results = await readPrivate(files, RESULTS_FILE);
  // Without the record an order is carried out again, which is safe.
  return Array.isArray(results) ? (results as RecordedResult[]) : [];
}

function writeResults(files: Files, results: readonly RecordedResult[]): Promise<void> {
  return writePrivate(files, RESULTS_FILE, JSON.stringify(results));
}
