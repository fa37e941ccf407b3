/** Orders: which ones a host takes, and what it answered to those it has carried out. */

import { fail } from '../../core/errors';
import type { HostOrder } from '../../workflows/activity-contracts';
import type { Files, HostPorts } from './ports';
import { writePrivate } from './records';

const RESULTS_FILE = '/var/lib/slipway/orders.json';
/** An update has nine orders at most; older ones are never repeated. */
const RESULTS_KEPT = 32;

interface RecordedResult {
  readonly orderId: string;
  readonly result: unknown;
}

/**
 * Refuses what is not for this host, or not any more.
 *
 * @throws `OrderRefused`
 */
export function checkOrder(ports: Pick<HostPorts, 'node' | 'now'>, order: HostOrder): void {
  if (order.node !== ports.node) {
    throw fail(
      'OrderRefused',
      `order ${order.orderId} is for ${order.node}, this is ${ports.node}`,
    );
  }
  const expires = Date.parse(order.notAfter);
  if (Number.isNaN(expires)) {
    throw fail('OrderRefused', `order ${order.orderId} has no readable expiry: ${order.notAfter}`);
  }
  if (ports.now().getTime() > expires) {
    throw fail('OrderRefused', `order ${order.orderId} expired at ${order.notAfter}`);
  }
}

/**
 * Carries an order out once: a repeated one gets the recorded answer. A failed one is not recorded, so
 * it is tried again.
 */
export async function once<Result>(
  ports: HostPorts,
  order: HostOrder,
  carryOut: () => Promise<Result>,
): Promise<Result> {
  checkOrder(ports, order);
  const recorded = (await readResults(ports.files)).find(
    (entry) => entry.orderId === order.orderId,
  );
  // What was recorded under this ID is what this very function answered.
  if (recorded !== undefined) return recorded.result as Result;
  const result = await carryOut();
  const others = await readResults(ports.files);
  const entry: RecordedResult = { orderId: order.orderId, result: result ?? null };
  await writeResults(ports.files, [...others, entry].slice(-RESULTS_KEPT));
  return result;
}

/** Forgets every answer: what they told is no longer true after the host was taken back. */
export async function forgetResults(files: Files): Promise<void> {
  if ((await readResults(files)).length > 0) await writeResults(files, []);
}

async function readResults(files: Files): Promise<readonly RecordedResult[]> {
  const state = await files.look(RESULTS_FILE);
  if (state.kind !== 'file') return [];
  // Written by this module only, atomically.
  return JSON.parse(state.content.toString('utf8')) as RecordedResult[];
}

function writeResults(files: Files, results: readonly RecordedResult[]): Promise<void> {
  return writePrivate(files, RESULTS_FILE, JSON.stringify(results));
}
