import type { Payload, PayloadCodec } from '@temporalio/common';
import { isRecord } from '../../core/is-record';

/** A message of Temporal's API with all payloads in it decoded. */
export async function withOpenPayloads<T>(message: T, codecs: readonly PayloadCodec[]): Promise<T> {
  if (codecs.length === 0) return message;
  return (await opened(message, codecs)) as T;
}

async function opened(value: unknown, codecs: readonly PayloadCodec[]): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((one) => opened(one, codecs)));
  if (!isRecord(value) || value instanceof Uint8Array) return value;
  if (isPayload(value)) return decoded(value, codecs);
  // The messages have their defaults in the prototype.
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as typeof value;
  const fields = Object.entries(value).map(async ([name, inner]) => [
    name,
    await opened(inner, codecs),
  ]);
  return Object.assign(copy, Object.fromEntries(await Promise.all(fields)));
}

function isPayload(value: Readonly<Record<string, unknown>>): value is Payload & typeof value {
  return isRecord(value['metadata']) && value['data'] instanceof Uint8Array;
}

async function decoded(payload: Payload, codecs: readonly PayloadCodec[]): Promise<Payload> {
  let payloads = [payload];
  for (const codec of codecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0] ?? payload;
}
