/** Messages of Temporal's API as JSON that a person can read: payloads decoded, times and large numbers in words. */

import { isRecord } from '../../core/is-record';

export function plainHistory(value: unknown): unknown {
  if (value instanceof Uint8Array) return `(${value.length} bytes)`;
  if (Array.isArray(value)) return value.map(plainHistory);
  if (!isRecord(value)) return value;
  const long = longOf(value);
  if (long !== undefined) return long;
  const { seconds, nanos, metadata, data } = value;
  if (seconds !== undefined && nanos !== undefined && Object.keys(value).length === 2) {
    return timeOf(seconds, nanos);
  }
  if (isRecord(metadata) && data instanceof Uint8Array) return payloadOf(metadata, data);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const isAbsent =
        inner === null || inner === undefined || inner === '' || typeof inner === 'function';
      return isAbsent ? [] : [[key, plainHistory(inner)]];
    }),
  );
}

/** `Long`, which is not a plain number. */
function longOf(value: Readonly<Record<string, unknown>>): string | number | undefined {
  if (!('low' in value) || !('high' in value)) return undefined;
  const text = (value as { toString(): string }).toString();
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** A duration is shorter than a year, and a time is after 1971. */
const YEAR_SECONDS = 366 * 86_400;

function timeOf(seconds: unknown, nanos: unknown): string {
  const total = Number(String(seconds)) + Number(nanos) / 1e9;
  return total > YEAR_SECONDS ? new Date(total * 1000).toISOString() : `${total}s`;
}

/** Of other encodings, which may be encrypted, only the size. */
function payloadOf(metadata: Readonly<Record<string, unknown>>, data: Uint8Array): unknown {
  const encoding = metadata['encoding'];
  const name = encoding instanceof Uint8Array ? Buffer.from(encoding).toString() : '';
  if (name !== 'json/plain') return `(${data.length} bytes, ${name || 'no encoding'})`;
  try {
    return JSON.parse(Buffer.from(data).toString()) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return `(${data.length} bytes, not JSON)`;
  }
}
