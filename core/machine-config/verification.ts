/** `verification.hash`, which Ignition compares before it writes a file. */

import { createHash } from 'node:crypto';

/**
 * Whether contents match the hash. Like Ignition, takes it of the decompressed contents and ignores
 * upper and lower case.
 *
 * @param hash - `sha256-<hexadecimal>` or `sha512-…`; a name of another function never matches
 */
export function isVerified(bytes: Uint8Array, hash: string): boolean {
  const [, name, digest] = /^(sha256|sha512)-(.*)$/s.exec(hash) ?? [];
  if (name === undefined || digest === undefined) return false;
  return createHash(name).update(bytes).digest('hex') === digest.toLowerCase();
}
