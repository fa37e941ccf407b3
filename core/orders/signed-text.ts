/** Texts that the cluster signs for its hosts, with Ed25519. What is signed is the exact text: nobody writes it anew. */

import { createHash, createPublicKey, verify } from 'node:crypto';
import { isRecord } from '../is-record';

export interface SignedText {
  readonly text: string;
  /** Base 64. */
  readonly signature: string;
  readonly keyId: string;
}

/** No signature for one of them is good for another. */
export type SignedAs = 'order' | 'order keys';

export function signedBytes(as: SignedAs, text: string): Uint8Array {
  return Buffer.from(`slipway ${as}\n${text}`);
}

/** @param publicKey - SPKI in base 64 */
export function keyIdOf(publicKey: string): string {
  const digest = createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex');
  return digest.slice(0, 16);
}

/** @param publicKey - SPKI in base 64 */
export function isSignedBy(
  publicKey: string,
  as: SignedAs,
  { text, signature }: SignedText,
): boolean {
  try {
    const key = createPublicKey({
      key: Buffer.from(publicKey, 'base64'),
      format: 'der',
      type: 'spki',
    });
    return verify(null, signedBytes(as, text), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

export function isSignedText(value: unknown): value is SignedText {
  return (
    isRecord(value) &&
    [value['text'], value['signature'], value['keyId']].every((part) => typeof part === 'string')
  );
}
