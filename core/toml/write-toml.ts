/**
 * A TOML writer with the exact bytes of BurntSushi/toml, which MCO uses: two spaces per level, a
 * blank line before a table of the first level and before each table of a list.
 */

type TomlScalar = string | number | bigint | boolean | readonly string[];

/** In the order of writing. */
export type TomlTable = readonly TomlEntry[];

interface TomlEntry {
  readonly key: string;
  readonly value:
    TomlScalar | { readonly table: TomlTable } | { readonly tables: readonly TomlTable[] };
}

/** A key of the table; `undefined` = the key is left out. */
type Optional<T> = T | undefined;

/** The entry as a list, so that absent values can be spread away. */
export function tomlEntry(key: string, value: Optional<TomlScalar>): TomlTable {
  return value === undefined ? [] : [{ key, value }];
}

export function tomlTable(key: string, table: TomlTable): TomlTable {
  return [{ key, value: { table } }];
}

export function tomlTables(key: string, tables: readonly TomlTable[]): TomlTable {
  return [{ key, value: { tables } }];
}

/**
 * The document, with a final newline. The entries of a table come before its tables, whatever their
 * order in the list.
 *
 * @see BurntSushi/toml encode.go (v1.6.0), Encoder
 */
export function toToml(document: TomlTable): string {
  const writer = new Writer();
  writer.table([], document);
  return writer.text;
}

class Writer {
  text = '';

  table(path: readonly string[], table: TomlTable): void {
    const padding = '  '.repeat(path.length);
    for (const { key, value } of table) {
      if (isScalar(value)) this.text += `${padding}${tomlKey(key)} = ${scalarText(value)}\n`;
    }
    for (const { key, value } of table) {
      if (isScalar(value)) continue;
      const inner = [...path, key];
      if ('table' in value) {
        if (path.length === 0) this.#blankLine();
        this.#header(inner, ['[', ']'], value.table);
      } else {
        for (const one of value.tables) {
          this.#blankLine();
          this.#header(inner, ['[[', ']]'], one);
        }
      }
    }
  }

  #header(path: readonly string[], [open, close]: readonly [string, string], table: TomlTable) {
    const padding = '  '.repeat(path.length - 1);
    this.text += `${padding}${open}${path.map(tomlKey).join('.')}${close}\n`;
    this.table(path, table);
  }

  #blankLine(): void {
    if (this.text !== '') this.text += '\n';
  }
}

function isScalar(value: TomlEntry['value']): value is TomlScalar {
  return typeof value !== 'object' || Array.isArray(value);
}

function scalarText(value: TomlScalar): string {
  if (typeof value === 'string') return tomlString(value);
  if (typeof value === 'object') return `[${value.map(tomlString).join(', ')}]`;
  return String(value);
}

const BARE_KEY = /^[A-Za-z0-9_-]+$/;

function tomlKey(key: string): string {
  return BARE_KEY.test(key) ? key : tomlString(key);
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
};

/** A basic string in double quotes. */
export function tomlString(text: string): string {
  const escaped = text.replace(
    // eslint-disable-next-line no-control-regex -- TOML escapes control characters
    /["\\\u0000-\u001f\u007f]/g,
    (character) =>
      SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `"${escaped}"`;
}
