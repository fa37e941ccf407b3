/** The text of a file: as it stands, or data that the writer of its format writes. */

import { isRecord } from '../is-record';
import { tomlEntry, tomlTable, tomlTables, toToml, type TomlTable } from '../toml';
import { toYaml, type YamlValue } from '../yaml/write-yaml';

export const FORMATS = ['yaml', 'json', 'toml', 'env'] as const;
type Format = (typeof FORMATS)[number];

export class UnwritableData extends Error {}

/** @throws UnwritableData for data that the format cannot hold */
export function written(format: Format, data: unknown): string {
  switch (format) {
    case 'yaml':
      return yamlText(data);
    case 'json':
      return `${JSON.stringify(data, null, 2)}\n`;
    case 'toml':
      return toToml(tableOf(data));
    case 'env':
      return envText(data);
  }
}

function yamlText(data: unknown): string {
  try {
    return toYaml(data as YamlValue);
  } catch (error) {
    if (error instanceof RangeError) throw new UnwritableData(error.message);
    throw error;
  }
}

function tableOf(data: unknown): TomlTable {
  if (!isRecord(data)) throw new UnwritableData('TOML holds fields');
  return Object.entries(data).flatMap(([key, value]): TomlTable => {
    if (isRecord(value)) return tomlTable(key, tableOf(value));
    if (Array.isArray(value)) return listOf(key, value);
    if (typeof value === 'string' || typeof value === 'boolean') return tomlEntry(key, value);
    if (typeof value === 'number' && Number.isInteger(value)) return tomlEntry(key, value);
    throw new UnwritableData(`${key} is no text, whole number, boolean, list or table`);
  });
}

function listOf(key: string, list: readonly unknown[]): TomlTable {
  if (list.length > 0 && list.every(isRecord)) return tomlTables(key, list.map(tableOf));
  const texts = list.filter((item) => typeof item === 'string');
  if (texts.length === list.length) return tomlEntry(key, texts);
  throw new UnwritableData(`the list ${key} has something else than texts, or than tables`);
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Lines for `EnvironmentFile=` of systemd, which a shell reads in the same way. */
function envText(data: unknown): string {
  if (!isRecord(data)) throw new UnwritableData('an environment holds fields');
  const lines = Object.entries(data).map(([name, value]) => {
    if (!VARIABLE.test(name)) throw new UnwritableData(`${name} is no name of a variable`);
    if (typeof value === 'string') return `${name}="${value.replace(/["\\$`]/g, '\\$&')}"\n`;
    if (typeof value === 'number' || typeof value === 'boolean') return `${name}=${value}\n`;
    throw new UnwritableData(`${name} is no text, number or boolean`);
  });
  return lines.join('');
}
