/** Typed access to a parsed TOML document, with the refusals of Go's decoder. */

import { isRecord } from '../is-record';

/** What only a library can do. */
export interface TomlPort {
  /**
   * A TOML 1.0 document as plain values. Throws for anything else; an error may have `line` and
   * `column`.
   */
  parseToml(text: string): unknown;
}

/** An absent key reads as undefined, a key of the wrong type is refused. */
export interface TomlFields {
  text(key: string): string | undefined;
  flag(key: string): boolean | undefined;
  /** A whole number of at least 0. */
  size(key: string): number | undefined;
  texts(key: string): readonly string[] | undefined;
  table(key: string): TomlFields;
  tables(key: string): readonly TomlFields[] | undefined;
  /** A table of texts, keys in the order of the document. */
  textTable(key: string): ReadonlyMap<string, string> | undefined;
}

/**
 * Fields of a table. Keys match without regard to case when no key matches exactly.
 *
 * @throws Error that names the key and both types
 * @see BurntSushi/toml decode.go (v1.6.0), unifyStruct
 */
export function tomlFields(value: unknown, path: readonly string[] = []): TomlFields {
  const values = isRecord(value) ? value : {};
  const valueOf = (key: string): unknown => {
    if (Object.hasOwn(values, key)) return values[key];
    const found = Object.keys(values).find((other) => other.toLowerCase() === key.toLowerCase());
    return found === undefined ? undefined : values[found];
  };
  const read = <T>(key: string, type: Type<T>): T | undefined => {
    const found = valueOf(key);
    return found === undefined ? undefined : expectType(found, type, [...path, key]);
  };
  const inner = (key: string, table: unknown): TomlFields => tomlFields(table, [...path, key]);
  return {
    text: (key) => read(key, TEXT),
    flag: (key) => read(key, FLAG),
    size: (key) => read(key, SIZE),
    texts: (key) =>
      read(key, LIST)?.map((entry, i) => expectType(entry, TEXT, [...path, key, String(i)])),
    table: (key) => inner(key, read(key, TABLE)),
    tables: (key) =>
      read(key, LIST)?.map((entry) => inner(key, expectType(entry, TABLE, [...path, key]))),
    textTable: (key) => {
      const table = read(key, TABLE);
      if (table === undefined) return undefined;
      const texts = Object.entries(table).map(
        ([name, text]) => [name, expectType(text, TEXT, [...path, key, name])] as const,
      );
      return new Map(texts);
    },
  };
}

interface Type<T> {
  /** Go's name. */
  readonly name: string;
  is(value: unknown): value is T;
}

const TEXT: Type<string> = { name: 'string', is: (value) => typeof value === 'string' };
const FLAG: Type<boolean> = { name: 'boolean', is: (value) => typeof value === 'boolean' };
const SIZE: Type<number> = {
  name: 'integer',
  is: (value): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffffffff,
};
const LIST: Type<readonly unknown[]> = { name: 'slice', is: (value) => Array.isArray(value) };
const TABLE: Type<Readonly<Record<string, unknown>>> = { name: 'map', is: isRecord };

function expectType<T>(value: unknown, type: Type<T>, path: readonly string[]): T {
  if (type.is(value)) return value;
  const types = `TOML value has type ${typeName(value)}; destination has type ${type.name}`;
  throw new Error(`(last key ${JSON.stringify(path.join('.'))}): incompatible types: ${types}`);
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return '[]any';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'float';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'object') return value instanceof Date ? 'time.Time' : 'map[string]any';
  return typeof value;
}
