/** Reading TOML with the messages of BurntSushi/toml where MCO shows them. */

import { goQuote, goQuoteRune } from '../encoding/go-quote';
import { messageOf } from '../errors';
import { isRecord } from '../is-record';
import { tomlFields, type TomlFields, type TomlPort } from './fields';

/**
 * The document.
 *
 * @param read - reads the fields; its refusals get the prefix of a TOML error, too
 * @throws Error `toml: line <n>: <what>`. The words are BurntSushi's for a faulty header, key or
 * end of line, and the parser's for every other fault.
 */
export function readToml<T>(text: string, port: TomlPort, read: (fields: TomlFields) => T): T {
  let document: unknown;
  try {
    document = port.parseToml(text);
  } catch (error) {
    throw new Error(`toml: ${faultOf(text, error)}`, { cause: error });
  }
  try {
    return read(tomlFields(document));
  } catch (error) {
    throw new Error(`toml: ${messageOf(error)}`, { cause: error });
  }
}

function faultOf(text: string, error: unknown): string {
  const line = isRecord(error) && typeof error['line'] === 'number' ? error['line'] : undefined;
  if (line === undefined) return firstLine(messageOf(error));
  // A faulty line may be reported as the one behind it.
  for (const number of [line, line - 1]) {
    const fault = faultOfLine(text, number);
    if (fault !== undefined) return fault;
  }
  return `line ${line}: ${firstLine(messageOf(error)).replace(/^Invalid TOML document: /, '')}`;
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}

const SPACE = /^[ \t]*/;
const HEADER = /^\[\[?/;
const KEY = /^[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*/;

/** The fault of a header or of a key in that line, or undefined when both are whole. */
function faultOfLine(text: string, number: number): string | undefined {
  const lines = text.split('\n');
  const start = lines[number - 1]?.replace(SPACE, '');
  if (start === undefined) return undefined;
  const end = number === lines.length ? '\0' : '\n';
  const header = HEADER.exec(start)?.[0];
  if (header === undefined && !KEY.test(start)) return undefined;
  const rest = behindKeys(start.slice(header?.length ?? 0)) + end;
  const table = tableBefore(lines, number);
  const lastKey = table === undefined ? '' : ` (last key ${goQuote(table)})`;
  if (header === undefined) {
    const fault = keyFault(rest.charAt(0));
    return fault && `line ${number}${lastKey}: ${fault}`;
  }
  const [wrong, fault] = headerFault(header, rest) ?? [];
  // Behind a line break, the next line counts.
  return fault && `line ${wrong === '\n' ? number + 1 : number}${lastKey}: ${fault}`;
}

function keyFault(found: string): string | undefined {
  if (found === '=') return undefined;
  if (found === '\0') return "unexpected EOF; expected key separator '='";
  return `expected '.' or '=', but got ${goQuoteRune(found)} instead`;
}

/** The character that is wrong, and what is. */
function headerFault(header: string, rest: string): readonly [string, string] | undefined {
  const [first = '', second = ''] = [rest.charAt(0), rest.charAt(1)];
  if (first !== ']') {
    return [first, `expected '.' or ']' to end table name, but got ${goQuoteRune(first)} instead`];
  }
  if (header === '[' || second === ']') return undefined;
  const expected = "expected end of table array name delimiter ']'";
  return [second, `${expected}, but got ${goQuoteRune(second)} instead`];
}

/** The table in which that line stands; undefined = none. */
function tableBefore(lines: readonly string[], number: number): string | undefined {
  const header = lines
    .slice(0, number - 1)
    .map((line) => line.replace(SPACE, ''))
    .findLast((line) => HEADER.test(line));
  return header?.replace(HEADER, '').replace(/\].*$/, '').replace(/\s/g, '');
}

/** What follows the parts of a dotted key. */
function behindKeys(text: string): string {
  let rest = text.replace(KEY, '');
  while (rest.startsWith('.')) rest = rest.slice(1).replace(KEY, '');
  return rest;
}
