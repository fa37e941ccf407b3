/**
 * Task tokens that only the host can use to which the task was handed. Temporal's own tokens are not
 * signed, and name no queue. Every gateway with the same keys knows what another one has handed out.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TokenKeys } from './token-keys';

const VERSION = 1;
const MAC_BYTES = 32;
const HEAD_BYTES = 1 + MAC_BYTES;

/** Version (1 byte), HMAC-SHA256 (32 bytes), token of Temporal. */
export function wrapToken(token: Uint8Array, host: string, keys: TokenKeys): Buffer {
  return Buffer.concat([Buffer.of(VERSION), macOf(token, host, keys.signing()), token]);
}

/** Undefined = it was not handed to this host, or it is no token. */
export function unwrapToken(
  wrapped: Uint8Array,
  host: string,
  keys: TokenKeys,
): Buffer | undefined {
  const bytes = Buffer.from(wrapped);
  if (bytes.length <= HEAD_BYTES || bytes[0] !== VERSION) return undefined;
  const mac = bytes.subarray(1, HEAD_BYTES);
  const token = bytes.subarray(HEAD_BYTES);
  const isSigned = (key: Buffer): boolean => timingSafeEqual(mac, macOf(token, host, key));
  if (keys.all().some(isSigned) || keys.all(true).some(isSigned)) return token;
  return undefined;
}

/** Names of hosts have no NUL. */
function macOf(token: Uint8Array, host: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(`${host}\0`).update(token).digest();
}
