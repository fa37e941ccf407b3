/** Texts that come from a host's disk and end up in terminals, logs and statuses. */

import { cut } from '../encoding/one-line';

/**
 * What a terminal would act on, what turns the direction of a line or ends it, and half a character: an API
 * server takes no such text.
 */
const NOT_PRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text with a `?` for each character that is not printable; never longer than before. */
export function printable(text: string): string {
  return text.replace(NOT_PRINTABLE, '?');
}

/** The same, of at most so many UTF-16 units: cut between two characters, and ended with `…`. */
export function printableWithin(text: string, limit: number): string {
  const plain = printable(text);
  return plain.length <= limit ? plain : `${cut(plain, limit - 1)}…`;
}
