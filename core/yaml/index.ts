/**
 * A YAML writer with the exact bytes of ghodss/yaml on go-yaml v2: keys sorted at every level, lists
 * not indented under their key, two spaces, strings quoted and folded by that library's rules.
 *
 * Rendered configs are named by a hash over these bytes, so a byte more or less would rename the
 * config of every cluster.
 */

import { asRead, writeKey, writeString } from './scalar';

/** A block scalar may end with any line break, which then ends its line. */
const ENDS_WITH_BREAK = /[\n\u2028\u2029]$/;

/** What can be written. A key with the value `undefined` counts as absent. */
export type YamlValue =
  | string
  | boolean
  | number
  | null
  | undefined
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue };

/**
 * The document, with a final newline.
 *
 * @throws RangeError for a control character, and for a number that is not an integer (no field of
 *   a MachineConfig holds one)
 */
export function toYaml(value: YamlValue): string {
  const out = write(value, { indent: 0, column: 0, inMapping: false, dashes: false });
  return ENDS_WITH_BREAK.test(out) ? out : `${out}\n`;
}

interface Place {
  /** Indentation of the collection that the value stands in. */
  readonly indent: number;
  /** Column at which an inline value would begin. */
  readonly column: number;
  readonly inMapping: boolean;
  /** Directly after `- `, where a nested collection begins on the same line. */
  readonly dashes: boolean;
}

/** The text of a value after `key:` or `-`, without the separating space or newline. */
function write(value: YamlValue, place: Place): string {
  if (Array.isArray(value)) return writeList(value as readonly YamlValue[], place);
  if (typeof value === 'object' && value !== null) {
    return writeMapping(value as { readonly [key: string]: YamlValue }, place);
  }
  if (typeof value === 'string') {
    return writeString(asRead(value), place.column, place.indent + 2);
  }
  if (typeof value === 'number' && !Number.isInteger(value)) {
    throw new RangeError(`only integers can be written as YAML, got ${value}`);
  }
  return value === undefined ? 'null' : String(value);
}

function writeList(list: readonly YamlValue[], place: Place): string {
  if (list.length === 0) return '[]';
  const indent = place.inMapping ? place.indent : place.indent + (place.dashes ? 2 : 0);
  const padding = ' '.repeat(indent);
  const lines = list.map((item) => {
    const text = write(item, { indent, column: indent + 2, inMapping: false, dashes: true });
    return `- ${text}`;
  });
  return joinLines(lines, padding, place);
}

function writeMapping(map: { readonly [key: string]: YamlValue }, place: Place): string {
  const keys = Object.keys(map).filter((key) => map[key] !== undefined);
  if (keys.length === 0) return '{}';
  const indent = place.inMapping || place.dashes ? place.indent + 2 : place.indent;
  const padding = ' '.repeat(indent);
  const lines = keys.sort(compareKeys).map((key) => {
    const name = writeKey(key);
    const child = map[key];
    const column = indent + name.length + 2;
    const text = write(child, { indent, column, inMapping: true, dashes: false });
    return isFilled(child) ? `${name}:\n${text}` : `${name}: ${text}`;
  });
  return joinLines(lines, padding, place);
}

/** Lines of a collection; the first one stands on the line of a dash when there is one. */
function joinLines(lines: readonly string[], padding: string, place: Place): string {
  const first = place.dashes ? '' : padding;
  return lines
    .map(
      (line, i) => (i === 0 ? first : padding) + (ENDS_WITH_BREAK.test(line) ? line : `${line}\n`),
    )
    .join('');
}

function isFilled(value: YamlValue): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** go-yaml's order: letters by code, other characters before letters, digit runs by number. */
export function compareKeys(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [left[i] ?? '', right[i] ?? ''];
    if (x === y) continue;
    const [xLetter, yLetter] = [/\p{L}/u.test(x), /\p{L}/u.test(y)];
    if (xLetter && yLetter) return x < y ? -1 : 1;
    if (xLetter || yLetter) return yLetter ? -1 : 1;
    return compareDigits(left, right, i) || (x < y ? -1 : 1);
  }
  return left.length - right.length;
}

function compareDigits(left: readonly string[], right: readonly string[], at: number): number {
  const a = digitRun(left, right, at);
  const b = digitRun(right, left, at);
  if (a.value !== b.value) return a.value - b.value;
  return a.length - b.length;
}

/** The number that begins here; a zero inside a longer number counts as a following digit. */
function digitRun(
  own: readonly string[],
  other: readonly string[],
  at: number,
): { readonly value: number; readonly length: number } {
  const isDigit = (c: string | undefined): boolean => c !== undefined && /\p{Nd}/u.test(c);
  let value = 0;
  if (own[at] === '0' || other[at] === '0') {
    for (let j = at - 1; j >= 0 && isDigit(own[j]); j--) {
      if (own[j] !== '0') {
        value = 1;
        break;
      }
    }
  }
  let length = 0;
  for (let j = at; j < own.length && isDigit(own[j]); j++, length++) {
    value = value * 10 + ((own[j] ?? '0').charCodeAt(0) - 48);
  }
  return { value, length };
}
