/**
 * How much of the journal's log is durable, and the checksum there. A fault before the sealed
 * length is damage; after it, a cut-off append.
 *
 * Two slots are written in turn, each in its own sector: a crash during one write leaves the other
 * seal.
 */

import { createHash } from 'node:crypto';

export interface Seal {
  /** The highest count is valid. */
  readonly count: number;
  readonly length: number;
  readonly checksum: string;
  /** The journal is over and may be removed. */
  readonly isClosed: boolean;
}

/** A disk writes a sector whole or not at all. */
const SLOT_BYTES = 512;
export const SEAL_BYTES = 2 * SLOT_BYTES;

export function encodeSeal(seal: Seal): { readonly offset: number; readonly bytes: Buffer } {
  const { count, length, checksum, isClosed } = seal;
  const body = [count, length, checksum, isClosed ? 'closed' : 'open'].join(' ');
  const text = `${checksumOf(body)} ${body}`.padEnd(SLOT_BYTES - 1);
  return { offset: (count % 2) * SLOT_BYTES, bytes: Buffer.from(`${text}\n`) };
}

/** The newest whole seal, if there is one. */
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
