/**
 * The seal of a journal: how much of its log is durable, and the checksum there. A log alone cannot
 * tell the torn end of an append from an end that was lost later; with the seal, whatever is missing
 * or wrong before the sealed length is damage, and whatever follows it is an append that never ended.
 *
 * Two slots are written in turn, each in a sector of its own: a crash in the middle of one leaves the
 * other, which is one append behind.
 */

import { createHash } from 'node:crypto';

export interface Seal {
  /** Numbers the seals of a journal; the highest one counts. */
  readonly count: number;
  /** Bytes of the log that are durable. */
  readonly length: number;
  /** Checksum of the last entry in them. */
  readonly checksum: string;
  /** The journal is over: what is left of it is to be removed. */
  readonly isClosed: boolean;
}

/** What a disk writes whole or not at all. */
const SLOT_BYTES = 512;
/** Both slots. */
export const SEAL_BYTES = 2 * SLOT_BYTES;

/** The bytes of a seal, and where they go. */
export function encodeSeal(seal: Seal): { readonly offset: number; readonly bytes: Buffer } {
  const { count, length, checksum, isClosed } = seal;
  const body = [count, length, checksum, isClosed ? 'closed' : 'open'].join(' ');
  const text = `${checksumOf(body)} ${body}`.padEnd(SLOT_BYTES - 1);
  return { offset: (count % 2) * SLOT_BYTES, bytes: Buffer.from(`${text}\n`) };
}

/** The newest seal that is whole; undefined when there is none. */
export function readSeal(bytes: Buffer): Seal | undefined {
  const slots = [0, SLOT_BYTES].map((at) => decodeSlot(bytes.subarray(at, at + SLOT_BYTES)));
  const whole = slots.filter((seal) => seal !== undefined);
  return whole.sort((a, b) => b.count - a.count)[0];
}

function decodeSlot(bytes: Buffer): Seal | undefined {
  const text = bytes.toString('latin1').trimEnd();
  const body = text.slice(65);
  if (text.slice(0, 64) !== checksumOf(body)) return undefined;
  const [count, length, checksum, state] = body.split(' ');
  return {
    count: Number(count),
    length: Number(length),
    checksum: checksum ?? '',
    isClosed: state === 'closed',
  };
}

function checksumOf(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}
