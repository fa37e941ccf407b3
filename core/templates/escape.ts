/** What may stand in a text where a template inserts a value. */

import type { TextKind } from './types';

/** A blank, quotes, a backslash, `$` and `;` mean something else to systemd than themselves. */
const UNIT_SYNTAX = /[^\u0021-\u007e]|["'\\$;`]/;

// eslint-disable-next-line no-control-regex -- they are what is refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * The value as it stands in the text, or what it must not contain. In a unit, `%` is doubled,
 * because systemd reads one as a specifier. Data needs no escape here: its writer does that.
 */
export function escaped(
  kind: TextKind,
  value: string,
): { readonly text: string } | { readonly refused: string } {
  const found = (kind === 'unit' ? UNIT_SYNTAX : CONTROL).exec(value)?.[0];
  if (found !== undefined) return { refused: nameOf(found) };
  return { text: kind === 'unit' ? value.replaceAll('%', '%%') : value };
}

function nameOf(character: string): string {
  if (character === ' ') return 'a blank';
  if (/[\n\r\u0085\u2028\u2029]/.test(character)) return 'a line break';
  if (CONTROL.test(character)) return 'a control character';
  return `the character ${character}`;
}
