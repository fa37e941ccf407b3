/**
 * `/etc/slipway/host.yaml`: one `key: value` per line. A YAML library would take a seventh of this
 * process's memory. Other syntax is refused with its line.
 */

import { readFileSync, statSync } from 'node:fs';
import type { HostWorkerOptions } from './setting-types';
import { codeOf } from './settings-reader';

/** Only this default file may be missing. */
const DEFAULT_CONFIG_FILE = '/etc/slipway/host.yaml';

export interface ReadConfigFile {
  readonly values: HostWorkerOptions;
  readonly problems: readonly string[];
  /** Its path, if every user can read it. */
  readonly openFile?: string;
}

const READ_BY_OTHERS = 0o004;

const KEY_AND_VALUE = /^([A-Za-z][A-Za-z0-9]*):(?:[ \t]+(.*))?$/;
/** With these, YAML begins something that is not plain text. */
const NOT_PLAIN = /^[[\]{}&*!|>@`%,?-]/;

/** @param named - by a person; undefined = the default, if it exists */
export function readConfigFile(named: string | undefined): ReadConfigFile {
  const file = named ?? DEFAULT_CONFIG_FILE;
  let text: string;
  let isOpen: boolean;
  try {
    text = readFileSync(file, 'utf8');
    isOpen = (statSync(file).mode & READ_BY_OTHERS) !== 0;
  } catch (error) {
    const code = codeOf(error);
    const isMissing = named === undefined && (code === 'ENOENT' || code === 'ENOTDIR');
    return { values: {}, problems: isMissing ? [] : [`${file}: cannot be read (${code})`] };
  }
  return { ...parseConfig(text, file), ...(isOpen ? { openFile: file } : {}) };
}

/** @param file - its name in problems */
export function parseConfig(text: string, file: string): ReadConfigFile {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || line === '---' || line === '...') continue;
    const where = `${file}: line ${index + 1}`;
    const match = KEY_AND_VALUE.exec(line);
    const key = match?.[1];
    if (key === undefined) {
      problems.push(`${where}: expected "setting: value", not ${JSON.stringify(line.trim())}`);
      continue;
    }
    const value = scalar(match?.[2] ?? '');
    if (Object.hasOwn(values, key)) problems.push(`${where}: ${key} is there twice`);
    else if (value === undefined)
      problems.push(`${where}: ${key} must be one plain or quoted text`);
    else values[key] = value;
  }
  return { values, problems };
}

/** The text of a scalar; undefined for anything else. */
function scalar(source: string): string | undefined {
  const double = /^("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/.exec(source)?.[1];
  if (double !== undefined) return unescaped(double);
  const single = /^'((?:[^']|'')*)'\s*(?:#.*)?$/.exec(source)?.[1];
  if (single !== undefined) return single.replaceAll("''", "'");
  const plain = source.replace(/(^|\s)#.*$/, '').trim();
  const isOdd = /^["']/.test(plain) || NOT_PLAIN.test(plain) || /:(\s|$)/.test(plain);
  if (isOdd) return undefined;
  return plain === '~' || plain === 'null' ? '' : plain;
}

/** Accepts JSON's escapes, which are the common ones of YAML. */
function unescaped(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}
