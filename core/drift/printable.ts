/** Makes texts of a host's disk safe for terminals, logs and statuses. */

import { cut } from '../encoding/one-line';

/**
 * Control and direction characters, line ends, and half characters, which an API server refuses.
 */
const NOT_PRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Replaces each character that is not printable by `?`; never longer than before. */
export function printable(text: string): string {
  return text.replace(NOT_PRINTABLE, '?');
}

/** The same with at most so many UTF-16 units: cut between two characters, and ended with `…`. */
export function printableWithin(text: string, limit: number): string {
  const plain = printable(text);
  return plain.length <= limit ? plain : `${cut(plain, limit - 1)}…`;
}
