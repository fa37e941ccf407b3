/** One scalar: the style in which go-yaml v2 writes a string, and its text. */

import { isBase60, readsAsNonString } from './resolve';

/** Lines are folded at the first single space beyond this column. */
const BEST_WIDTH = 80;

/** Unprintable for go-yaml, which forces double quotes. Astral characters count as unprintable. */
const UNPRINTABLE = /[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;
const BREAK = /[\n\u2028\u2029]/;
/** Text that has a meaning in an unquoted scalar. */
const INDICATOR = /^(?:---|\.\.\.)|^[#,[\]{}&*!|>'"%@`]|^[?:-](?= |$)|:(?= |$)| #/;

/** Plain in any place: letters first, then no indicator and no break. */
const ORDINARY = /^[A-Za-z/][A-Za-z0-9/.,;=+_$~@-]*(?::[A-Za-z0-9/.,;=+_$~@-]+)*$/;

/** Characters that go-yaml refuses to read: C0 and C1 controls and the two non-characters. */
const UNREADABLE = /[\x7f-\x84\x86-\x9f\ufffe\uffff]/;
const BOM = '\ufeff';

/**
 * A string after JSON text and go-yaml's reader, as in ghodss/yaml: a NEL is a line break and is
 * folded, a control character is an error.
 *
 * @throws RangeError for a control character
 */
export function asRead(value: string): string {
  if (UNREADABLE.test(value)) throw new RangeError('yaml: control characters are not allowed');
  if (!value.includes('\u0085')) return value;
  return value.replace(/ *(?:\u0085 *)+/g, (run) => {
    const breaks = run.split('\u0085').length - 1;
    return breaks === 1 ? ' ' : '\n'.repeat(breaks - 1);
  });
}

/**
 * The text of a string value, without anything before it.
 *
 * @param column - column (0-based) at which the text begins
 * @param indent - indentation of continued lines
 */
export function writeString(value: string, column: number, indent: number): string {
  if (ORDINARY.test(value) && !readsAsNonString(value)) return value;
  const special = UNPRINTABLE.test(value);
  const breaks = BREAK.test(value);
  if (value.includes('\n')) {
    const block = !special && !value.endsWith(' ') && !/ [\n\u2028\u2029]/.test(value);
    return block ? literal(value, indent) : doubleQuoted(value, column, indent);
  }
  if (readsAsNonString(value) || isBase60(value)) return doubleQuoted(value, column, indent);
  if (special || (breaks && / [\u2028\u2029]|[\u2028\u2029] /.test(value))) {
    return doubleQuoted(value, column, indent);
  }
  const plain = !breaks && !value.startsWith(' ') && !value.endsWith(' ') && !INDICATOR.test(value);
  return plain ? plainText(value, column, indent) : singleQuoted(value, column, indent);
}

/** A mapping key: short, on one line, never folded. */
export function writeKey(key: string): string {
  if (key.length > 128 || BREAK.test(key)) {
    throw new RangeError(`a YAML key cannot be written on one line: ${key.slice(0, 40)}`);
  }
  return writeString(key, Number.NEGATIVE_INFINITY, 0);
}

function plainText(value: string, column: number, indent: number): string {
  if (!value.includes(' ')) return value;
  if (value.length + column <= BEST_WIDTH) return value;
  return fold(value, column, indent, (text, at) => text.charAt(at + 1) !== ' ');
}

function singleQuoted(value: string, column: number, indent: number): string {
  const last = value.length - 1;
  const body = fold(
    value,
    column + 1,
    indent,
    (text, at) => at > 0 && at < last && text.charAt(at + 1) !== ' ',
    (character) => (character === "'" ? "''" : character),
  );
  return `'${body}'`;
}

/** Writes character by character, breaking the line at a lone space beyond the best width. */
function fold(
  value: string,
  start: number,
  indent: number,
  mayBreakAt: (text: string, at: number) => boolean,
  escape: (character: string) => string = (character) => character,
): string {
  const padding = ' '.repeat(indent);
  let out = '';
  let column = start;
  let afterSpace = false;
  let afterBreak = false;
  for (let i = 0; i < value.length; i++) {
    const character = value.charAt(i);
    if (character === ' ') {
      if (!afterSpace && column > BEST_WIDTH && mayBreakAt(value, i)) {
        out += `\n${padding}`;
        column = indent;
      } else {
        out += ' ';
        column++;
      }
      afterSpace = true;
    } else if (BREAK.test(character)) {
      out += character;
      column = 0;
      afterBreak = true;
    } else {
      if (afterBreak) {
        out += padding;
        column = indent;
      }
      const text = escape(character);
      out += text;
      column += text.length;
      afterSpace = false;
      afterBreak = false;
    }
  }
  return out;
}

/** Block scalar `|`, with an indentation hint when it begins blank and the chomping indicator. */
function literal(value: string, indent: number): string {
  const padding = ' '.repeat(indent);
  const hint = /^[ \n\u2028\u2029]/.test(value) ? '2' : '';
  const lines = value
    .split(/(?<=[\n\u2028\u2029])/)
    .map((line) => (BREAK.test(line.charAt(0)) ? line : padding + line));
  return `|${hint}${chomping(value)}\n${lines.join('')}`;
}

function chomping(value: string): string {
  if (!BREAK.test(value.charAt(value.length - 1))) return '-';
  return value.length === 1 || BREAK.test(value.charAt(value.length - 2)) ? '+' : '';
}

const ESCAPES = new Map<number, string>([
  [0x00, '0'],
  [0x07, 'a'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0b, 'v'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x1b, 'e'],
  [0x22, '"'],
  [0x5c, '\\'],
  [0x85, 'N'],
  [0xa0, '_'],
  [0x2028, 'L'],
  [0x2029, 'P'],
]);

function doubleQuoted(value: string, start: number, indent: number): string {
  const padding = ' '.repeat(indent);
  const characters = [...value];
  // go-yaml looks for a byte order mark only at the start, and then escapes everything.
  const all = value.startsWith(BOM);
  const last = characters.length - 1;
  let out = '"';
  let column = start + 1;
  let afterSpace = false;
  characters.forEach((character, i) => {
    if (character === ' ' && !all) {
      if (!afterSpace && column > BEST_WIDTH && i > 0 && i < last) {
        const next = characters[i + 1] === ' ' ? '\\' : '';
        out += `\n${padding}${next}`;
        column = indent + next.length;
      } else {
        out += ' ';
        column++;
      }
      afterSpace = true;
      return;
    }
    const text = escaped(character, all);
    out += text;
    column += text === character ? 1 : text.length;
    afterSpace = false;
  });
  return `${out}"`;
}

function escaped(character: string, always: boolean): string {
  if (
    !always &&
    !UNPRINTABLE.test(character) &&
    !BREAK.test(character) &&
    !/["\\]/.test(character)
  ) {
    return character;
  }
  const code = character.codePointAt(0) ?? 0;
  const short = ESCAPES.get(code);
  if (short !== undefined) return `\\${short}`;
  const digits = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`;
}
