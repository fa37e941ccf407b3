/** `verification.hash`, which Ignition compares before it writes a file. */

import type { RenderPorts } from '../ignition';

/**
 * Whether contents match the hash. Like Ignition, takes it of the decompressed contents and ignores
 * upper and lower case.
 *
 * @param hash - `sha256-<hexadecimal>` or `sha512-…`; a name of another function never matches
 */
export function isVerified(
  bytes: Uint8Array,
  hash: string,
  { digestHex }: Pick<RenderPorts, 'digestHex'>,
): boolean {
  const [, name, digest] = /^(sha256|sha512)-(.*)$/s.exec(hash) ?? [];
  if (digest === undefined) return false;
  return digestHex(name === 'sha256' ? 'sha256' : 'sha512', bytes) === digest.toLowerCase();
}
