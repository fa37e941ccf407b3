/**
 * A YAML writer with the exact bytes of ghodss/yaml on go-yaml v2. Rendered configs are named by a
 * hash over these bytes, so another byte would rename the configs of every cluster.
 */

import { goFloat } from '../encoding/go-float';
import { asRead, writeKey, writeString } from './scalar';

/** A block scalar may end with any line break, which then ends its line. */
const ENDS_WITH_BREAK = /[\n\u2028\u2029]$/;

/** A number that may have a fraction; no field of a MachineConfig holds one. */
export class YamlFloat {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

/** A key with the value `undefined` counts as absent. */
export type YamlValue =
  | string
  | boolean
  | number
  | bigint
  | YamlFloat
  | null
  | undefined
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue };

/**
 * The document, with a final newline.
 *
 * @throws RangeError for a control character, and for a `number` that is not an integer
 */
export function toYaml(value: YamlValue): string {
  const out: string[] = [];
  write(value, { indent: 0, column: 0, inMapping: false, dashes: false }, out);
  return out.join('');
}

interface Place {
  /** Indentation of the enclosing collection. */
  readonly indent: number;
  /** Column at which an inline value would begin. */
  readonly column: number;
  readonly inMapping: boolean;
  /** Directly after `- `, where a nested collection begins on the same line. */
  readonly dashes: boolean;
}

/** Writes a value with the end of its line, after `key:` or `- `. */
function write(value: YamlValue, place: Place, out: string[]): void {
  if (Array.isArray(value)) writeList(value as readonly YamlValue[], place, out);
  else if (value instanceof YamlFloat) out.push(writeFloat(value.number), '\n');
  else if (typeof value === 'object' && value !== null) {
    writeMapping(value as { readonly [key: string]: YamlValue }, place, out);
  } else {
    const text = writeScalar(value, place);
    out.push(text);
    // Only a block scalar ends with a break, which ends the line.
    if (!(text.startsWith('|') && ENDS_WITH_BREAK.test(text.slice(-1)))) out.push('\n');
  }
}

/** As JSON text that was read as YAML: a whole number is an integer if one of 64 bits can hold it. */
function writeFloat(number: number): string {
  const isInteger = Number.isInteger(number) && number < 2 ** 64 && number >= -(2 ** 63);
  return isInteger ? String(BigInt(number)) : goFloat(number);
}

function writeScalar(
  value: string | boolean | number | bigint | null | undefined,
  place: Place,
): string {
  if (typeof value === 'string') return writeString(asRead(value), place.column, place.indent + 2);
  if (typeof value === 'number' && !Number.isInteger(value)) {
    throw new RangeError(`only integers can be written as YAML, got ${value}`);
  }
  return value === undefined ? 'null' : String(value);
}

function writeList(list: readonly YamlValue[], place: Place, out: string[]): void {
  if (list.length === 0) {
    out.push('[]\n');
    return;
  }
  const indent = place.inMapping ? place.indent : place.indent + (place.dashes ? 2 : 0);
  const padding = ' '.repeat(indent);
  list.forEach((item, i) => {
    if (i > 0 || !place.dashes) out.push(padding);
    out.push('- ');
    write(item, { indent, column: indent + 2, inMapping: false, dashes: true }, out);
  });
}

function writeMapping(
  map: { readonly [key: string]: YamlValue },
  place: Place,
  out: string[],
): void {
  const keys = Object.keys(map).filter((key) => map[key] !== undefined);
  if (keys.length === 0) {
    out.push('{}\n');
    return;
  }
  const indent = place.inMapping || place.dashes ? place.indent + 2 : place.indent;
  const padding = ' '.repeat(indent);
  keys.sort(compareKeys).forEach((key, i) => {
    const name = writeKey(key);
    const child = map[key];
    if (i > 0 || !place.dashes) out.push(padding);
    out.push(name, isFilled(child) ? ':\n' : ': ');
    const column = indent + name.length + 2;
    write(child, { indent, column, inMapping: true, dashes: false }, out);
  });
}

function isFilled(value: YamlValue): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !(value instanceof YamlFloat) &&
    Object.keys(value).length > 0
  );
}

/** Most names of fields: for these, plain code order is the same. */
const LETTERS = /^[A-Za-z]+$/;

/** go-yaml's order: letters by code, other characters before letters, digit runs by number. */
function compareKeys(a: string, b: string): number {
  if (LETTERS.test(a) && LETTERS.test(b)) return a < b ? -1 : a > b ? 1 : 0;
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
