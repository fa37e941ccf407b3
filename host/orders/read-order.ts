/** Reads an order from what is signed: whoever lacks the key of the cluster orders nothing. */

import { printableWithin } from '../../core/drift';
import { fail, messageOf } from '../../core/errors';
import { isRecord } from '../../core/is-record';
import { updateNodeId } from '../../core/names';
import {
  countsAt,
  isSignedBy,
  isSignedText,
  keyOf,
  type OrderKeys,
  type SignedText,
} from '../../core/orders';
import type { HostOrder, HostStep } from '../../workflows/contracts/host';
import { goesOn } from '../records/accepted-runs';

/** The keys of the cluster, as this host knows them. */
export interface OrderKeyring {
  /** @throws an Error that names the file, and what is wrong with it */
  known(): Promise<OrderKeys>;
  /** Keeps what follows from statements that known keys have signed. Throws as `known`. */
  learn(statements: readonly SignedText[]): Promise<OrderKeys>;
}

export interface OrderReader {
  readonly node: string;
  readonly keyring: OrderKeyring;
  readonly now: () => Date;
}

const REASON_LIMIT = 300;

/**
 * @param given - the argument of the activity, from anybody
 * @throws `OrderRefused`; `OrderOutdated` when the cluster worker says why it has not signed
 */
export async function readOrder(
  given: unknown,
  step: HostStep,
  { node, keyring, now }: OrderReader,
): Promise<HostOrder> {
  const { order: text, signature, keyId, statements, differs } = isRecord(given) ? given : {};
  if (typeof differs === 'string') {
    throw fail('OrderOutdated', `the cluster worker did not sign it: ${shown(differs)}`);
  }
  const signed = { text, signature, keyId };
  if (!isSignedText(signed)) throw refused(`an order to ${step} on ${node} is not signed`);
  const keys = await keysWith(keyring, statements);
  const key = keyOf(keys, signed.keyId);
  if (key === undefined) {
    const known = keys.keys.map(({ id }) => id).join(', ');
    throw refused(
      `an order to ${step} is signed with key ${shown(signed.keyId)}, and ${node} knows ${known}`,
    );
  }
  if (!isSignedBy(key.publicKey, 'order', signed)) {
    throw refused(`an order to ${step} on ${node} has a signature that key ${key.id} has not made`);
  }
  const order = readText(signed.text, step);
  if (order.step !== step) {
    throw refused(`order ${order.orderId} is to ${order.step}, and came as ${step}`);
  }
  if (!isOfUpdate(order)) {
    throw refused(`order ${order.orderId} is of no update of ${order.node}`);
  }
  // As with the expiry, no clock of a host holds up a way back.
  const times = goesOn(step) ? [new Date(order.issuedAt), now()] : [new Date(order.issuedAt)];
  if (!times.every((time) => countsAt(key, time))) {
    throw refused(
      `order ${order.orderId} is signed with key ${key.id}, which ended at ${key.until ?? ''}`,
    );
  }
  return order;
}

async function keysWith(keyring: OrderKeyring, statements: unknown): Promise<OrderKeys> {
  const brought = Array.isArray(statements) ? statements.filter(isSignedText) : [];
  try {
    return brought.length === 0 ? await keyring.known() : await keyring.learn(brought);
  } catch (error) {
    throw refused(`no order can be checked: ${messageOf(error)}`);
  }
}

/** Signed by the cluster; this says what a host of another version cannot read. */
function readText(text: string, step: HostStep): HostOrder {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw refused(`an order to ${step} is not JSON: ${messageOf(error)}`);
  }
  const order = isRecord(parsed) ? parsed : {};
  const texts = ['orderId', 'step', 'node', 'issuedAt', 'notAfter'];
  const wrong = [
    ...texts.filter((field) => typeof order[field] !== 'string'),
    ...(isPool(order['pool']) ? [] : ['pool']),
    ...(isConfig(order['config']) ? [] : ['config']),
    ...(isRecord(order['disruptionPolicies']) ? [] : ['disruptionPolicies']),
  ];
  if (wrong.length > 0) throw refused(`an order to ${step} has no readable ${wrong.join(', ')}`);
  return order as unknown as HostOrder;
}

function isPool(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { name, uid, generation } = value;
  return typeof name === 'string' && typeof uid === 'string' && typeof generation === 'number';
}

function isConfig(value: unknown): boolean {
  return (
    isRecord(value) && typeof value['name'] === 'string' && typeof value['digest'] === 'string'
  );
}

/** Workflow ID, run and phase. */
function isOfUpdate({ orderId, node, step }: HostOrder): boolean {
  const workflow = `${updateNodeId(node)}/`;
  if (!orderId.startsWith(workflow)) return false;
  const [run = '', phase = '', more] = orderId.slice(workflow.length).split('/');
  const isPhase = phase === step || phase.startsWith(`${step}-`);
  return run !== '' && isPhase && more === undefined;
}

function refused(reason: string): Error {
  return fail('OrderRefused', reason);
}

function shown(text: string): string {
  return printableWithin(text, REASON_LIMIT);
}
