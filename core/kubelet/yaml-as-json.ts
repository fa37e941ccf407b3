/** A value of YAML as the JSON that a Go type is read from. */

import type { GoJson } from '../encoding/go-json-text';
import { goFloat } from '../encoding/go-float';
import { isRecord } from '../is-record';
import { fieldNamed } from './field-names';
import type { GoType } from './schema-types';

/**
 * Where the type is a text, numbers and booleans become one; fields get sorted.
 *
 * @param value - of JSON, with `bigint` for large integers
 * @see sigs.k8s.io/yaml Unmarshal, convertToJSONableObject
 */
export function yamlAsJson(type: GoType | undefined, value: unknown): GoJson {
  if (value === null || value === undefined) return { kind: 'null' };
  if (Array.isArray(value)) return arrayOf(type, value);
  if (isRecord(value)) return objectOf(type, value);
  if (typeof value === 'string') return { kind: 'string', value };
  if (typeof value === 'boolean') {
    return type?.kind === 'string'
      ? { kind: 'string', value: String(value) }
      : { kind: 'bool', value };
  }
  const number = typeof value === 'bigint' ? value : Number(value);
  if (type?.kind === 'string') return { kind: 'string', value: textOf(number) };
  return { kind: 'number', raw: literalOf(number) };
}

function arrayOf(type: GoType | undefined, value: readonly unknown[]): GoJson {
  const of = type?.kind === 'list' ? type.of : undefined;
  const items = value.map((item) => yamlAsJson(of, item));
  return { kind: 'array', items, raw: rawText(value) };
}

function objectOf(type: GoType | undefined, value: Readonly<Record<string, unknown>>): GoJson {
  const members = Object.keys(value)
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => [name, yamlAsJson(memberType(type, name), value[name])] as const);
  return { kind: 'object', members, raw: rawText(value) };
}

function memberType(type: GoType | undefined, name: string): GoType | undefined {
  if (type?.kind === 'map') return type.of;
  const field = type?.kind === 'struct' ? fieldNamed(type, name) : undefined;
  // For a field of an embedded struct, that library takes the type of the struct.
  return field?.embedded === undefined ? field?.type : undefined;
}

/** Of an integer all digits, of any other number those of single precision. */
function textOf(number: number | bigint): string {
  return typeof number === 'bigint' || Number.isSafeInteger(number)
    ? literalOf(number)
    : goFloat(number, 32);
}

function literalOf(number: number | bigint): string {
  if (typeof number === 'bigint') return String(number);
  return Number.isInteger(number) && Math.abs(number) < 1e21
    ? String(BigInt(number))
    : JSON.stringify(number);
}

function rawText(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? Number(each) : each,
  );
}
