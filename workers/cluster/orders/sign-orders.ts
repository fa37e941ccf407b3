/**
 * Signs orders to hosts on their way from a workflow to Temporal. The sandbox of workflows has no key, and a codec runs
 * outside of it: no step is added to a history, and a replay does not notice.
 */

import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { isRecord } from '../../../core/is-record';
import { updateNodeId } from '../../../core/names';
import type { Shown, SignedText } from '../../../core/orders';
import type { Handed, HostOrder } from '../../../workflows/contracts/host';

export interface OrderSigner {
  sign(text: string): SignedText;
  /** By which a host learns the key; none = it was never rolled. */
  readonly statements: readonly SignedText[];
}

interface SigningPorts {
  /** That of now: keys are rolled. */
  readonly signer: () => OrderSigner;
  /** What the API server shows for the order that introduces a config to a host. */
  readonly confirm: (order: HostOrder) => Promise<Shown>;
  readonly onRefused: (order: HostOrder, because: string) => void;
}

/** As the payload converter writes what workflows hand to hosts. */
const MARK = Buffer.from('{"order":{');

/** What is signed is in `order` as text. An order that does not fit what the API server shows is not signed, and says why. */
export function signingCodec(ports: SigningPorts): PayloadCodec {
  return {
    encode: (payloads, context) =>
      Promise.all(
        payloads.map(async (payload) => {
          const handed = handedIn(payload);
          if (handed === undefined || handed.isReplayed === true) return payload;
          return { ...payload, data: encoded(await signed(handed.order, ports, context)) };
        }),
      ),
    decode: (payloads) => Promise.resolve(payloads),
  };
}

function handedIn({ data }: Payload): Handed | undefined {
  if (data == null || !MARK.equals(data.subarray(0, MARK.length))) return undefined;
  const parsed: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  return isRecord(parsed) && isRecord(parsed['order']) ? (parsed as unknown as Handed) : undefined;
}

function encoded(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

async function signed(
  order: HostOrder,
  { signer, confirm, onRefused }: SigningPorts,
  context: SerializationContext | undefined,
): Promise<unknown> {
  const found = isOfUpdate(order, context)
    ? await shownFor(order, confirm)
    : { differs: 'it is not of the update of this node' };
  if ('differs' in found) {
    onRefused(order, found.differs);
    return { order, differs: found.differs };
  }
  const key = signer();
  const wanted = { ...order, pool: { ...order.pool, ...found } };
  const { text, signature, keyId } = key.sign(JSON.stringify(wanted));
  return {
    ...{ order: text, signature, keyId },
    ...(key.statements.length === 0 ? {} : { statements: key.statements }),
  };
}

/** Whatever else a worker encodes has no order in it, or is not handed to a host. */
function isOfUpdate({ node, orderId }: HostOrder, context: SerializationContext | undefined) {
  if (context?.type !== 'activity' || context.isLocal) return false;
  const workflow = updateNodeId(node);
  return context.workflowId === workflow && orderId.startsWith(`${workflow}/`);
}

/** Its host has prepared the update before it obeys any other order of it. */
async function shownFor(order: HostOrder, confirm: SigningPorts['confirm']): Promise<Shown> {
  return order.step === 'prepareUpdate' ? confirm(order) : { generation: order.pool.generation };
}
