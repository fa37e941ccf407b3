/**
 * What is wrong with a TOML document, in the words of the parser that MCO uses, so that a runbook
 * written for MCO still applies. The document was refused by a real parser before; this only finds
 * the place and says why.
 *
 * @see MCO pkg/daemon/drain.go, which shows github.com/BurntSushi/toml's errors (7ff337a4)
 */

import { messageOf } from '../errors';

/** Where the scan stands, and what MCO's parser would have understood so far. */
interface Scan {
  readonly text: string;
  at: number;
  /** Dotted name of the table that the present keys belong to; empty = the root. */
  table: string;
  /** Dotted name of the key whose value is being read, within the table; empty = none. */
  key: string;
  /** Keys of the present table section. */
  defined: Set<string>;
  /** Lines of the keys read so far, by full name; of equal names the last. */
  readonly lines: Map<string, number>;
}

/** The whole sentence; undefined = no fault so far. */
type Fault = string | undefined;

/**
 * The fault of a text that a TOML parser refused: `toml: line 3 (last key "a.b"): …`. Names keys, and
 * of values at most a word that lacks its quotes.
 *
 * @param error - what the parser threw; speaks when the fault is not one of writing
 */
export function tomlFault(text: string, error: unknown): string {
  const scan = startScan(text);
  const fault = scanDocument(scan);
  if (fault !== undefined) return fault;
  const [reason = ''] = messageOf(error).split('\n');
  return `toml: ${reason.replace(/^Invalid TOML document: /, '')}`;
}

/** The fault of a value that has the wrong type, in a document that is otherwise fine. */
export function tomlTypeFault(
  text: string,
  key: string,
  types: { readonly actual: string; readonly expected: string },
): string {
  const scan = startScan(text);
  scanDocument(scan);
  const line = scan.lines.get(key);
  const place = `${line === undefined ? '' : `line ${line} `}(last key ${JSON.stringify(key)})`;
  const { actual, expected } = types;
  return `toml: ${place}: incompatible types: TOML value has type ${actual}; destination has type ${expected}`;
}

function startScan(text: string): Scan {
  return { text, at: 0, table: '', key: '', defined: new Set(), lines: new Map() };
}

function scanDocument(scan: Scan): Fault {
  while (scan.at < scan.text.length) {
    const fault = scanStatement(scan);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function scanStatement(scan: Scan): Fault {
  skip(scan, /[ \t\r\n]*/y);
  if (scan.at >= scan.text.length) return undefined;
  const next = peek(scan);
  if (next === '#') return skip(scan, /[^\n]*/y);
  const fault = next === '[' ? scanHeader(scan) : scanPair(scan, '');
  if (fault !== undefined) return fault;
  scan.key = '';
  skip(scan, /[ \t]*/y);
  if (['', '#', '\n', '\r'].includes(peek(scan))) return undefined;
  const expected = 'expected a top-level item to end with a newline, comment, or EOF';
  return found(scan, `${expected}, but got`);
}

function scanHeader(scan: Scan): Fault {
  const isArray = scan.text.startsWith('[[', scan.at);
  scan.at += isArray ? 2 : 1;
  const parts: string[] = [];
  do {
    skip(scan, /[ \t]*/y);
    if (peek(scan) === ']' || peek(scan) === '') {
      return here(scan, 'unexpected end of table name (table names cannot be empty)');
    }
    if (peek(scan) === '.') {
      return here(scan, 'unexpected table separator (table names cannot be empty)');
    }
    const fault = scanName(scan, parts);
    if (fault !== undefined) return fault;
    skip(scan, /[ \t]*/y);
  } while (accept(scan, '.'));
  if (!accept(scan, ']')) {
    return after(scan, `expected '.' or ']' to end table name, but got ${quoted(scan)} instead`);
  }
  if (isArray && !accept(scan, ']')) {
    const expected = "expected end of table array name delimiter ']'";
    return after(scan, `${expected}, but got ${quoted(scan)} instead`);
  }
  scan.table = parts.join('.');
  scan.defined = new Set();
  return undefined;
}

/** `key = value`; `within` is the inline table that it stands in, with a dot behind. */
function scanPair(scan: Scan, within: string): Fault {
  const parts: string[] = [];
  do {
    skip(scan, /[ \t]*/y);
    const blank = parts.length === 0 ? ': key name appears blank' : '';
    const dotted = parts.length === 0 ? ": keys cannot start with a '.'" : '';
    if (peek(scan) === '=' || peek(scan) === '') return here(scan, `unexpected '='${blank}`);
    if (peek(scan) === '.') return here(scan, `unexpected '.'${dotted}`);
    const fault = scanName(scan, parts);
    if (fault !== undefined) return fault;
    skip(scan, /[ \t]*/y);
  } while (accept(scan, '.'));
  if (peek(scan) === '') return here(scan, "unexpected EOF; expected key separator '='");
  if (!accept(scan, '=')) return found(scan, "expected '.' or '=', but got");
  return scanValueOf(scan, `${within}${parts.join('.')}`);
}

function scanValueOf(scan: Scan, key: string): Fault {
  scan.key = key;
  const line = lineAt(scan, scan.at);
  const fault = scanValue(scan);
  if (fault !== undefined) return fault;
  const name = currentKey(scan);
  if (scan.defined.has(key)) {
    return sentence(scan, line, `Key '${name}' has already been defined.`);
  }
  scan.defined.add(key);
  scan.lines.set(name, line);
  return undefined;
}

/** One part of a key or of a table name, bare (possibly empty) or quoted. */
function scanName(scan: Scan, parts: string[]): Fault {
  const start = scan.at;
  if (peek(scan) === '"' || peek(scan) === "'") {
    const fault = scanString(scan);
    parts.push(scan.text.slice(start + 1, scan.at - 1));
    return fault;
  }
  skip(scan, /[A-Za-z0-9_-]*/y);
  parts.push(scan.text.slice(start, scan.at));
  return undefined;
}

function scanValue(scan: Scan): Fault {
  skip(scan, /[ \t]*/y);
  const next = peek(scan);
  if (next === '') return here(scan, 'unexpected EOF; expected value');
  if (next === '[') return scanArray(scan);
  if (next === '{') return scanInlineTable(scan);
  if (next === '"' || next === "'") return scanString(scan);
  if (next === '.') return here(scan, "floats must start with a digit, not '.'");
  if (next === '-' || next === '+') scan.at += 1;
  if (/[0-9]/.test(peek(scan))) return skip(scan, NUMBER_OR_DATE);
  if (next === '-' || next === '+') return scanSigned(scan);
  return /\p{L}/u.test(next) ? scanWord(scan) : found(scan, 'expected value but found');
}

const NUMBER_OR_DATE =
  /0x[0-9a-f_]*|0o[0-7_]*|0b[01_]*|[0-9]+[-:][-0-9:Tt .Zz+]*|[0-9][0-9_]*(?:[.eE][-0-9_.eE+]*)?/iy;

function scanSigned(scan: Scan): Fault {
  if (/^(?:inf|nan)/.test(scan.text.slice(scan.at))) return skip(scan, /.../y);
  return peek(scan) === '.'
    ? here(scan, "floats must start with a digit, not '.'")
    : found(scan, 'expected a digit but got', '');
}

function scanWord(scan: Scan): Fault {
  const word = /^\p{L}*/u.exec(scan.text.slice(scan.at))?.[0] ?? '';
  if (/^(?:inf|nan)/.test(word)) return skip(scan, /.../y);
  if (word !== 'true' && word !== 'false') {
    // MCO's parser swallows the first letter of a word that begins like `inf` or `nan`.
    const shown = /^(?:in|na)/.test(word) ? word.slice(1) : word;
    return here(scan, `expected value but found ${JSON.stringify(shown)} instead`);
  }
  scan.at += word.length;
  return undefined;
}

function scanArray(scan: Scan): Fault {
  scan.at += 1;
  for (;;) {
    skipBlank(scan);
    if (accept(scan, ']')) return undefined;
    if (peek(scan) === ',') return here(scan, 'unexpected comma');
    const fault = scanValue(scan);
    if (fault !== undefined) return fault;
    skipBlank(scan);
    if (accept(scan, ']')) return undefined;
    if (!accept(scan, ',')) {
      const expected = "expected a comma (',') or array terminator (']')";
      return after(scan, `${expected}, but got ${characterOrEnd(scan)}`);
    }
  }
}

function scanInlineTable(scan: Scan): Fault {
  scan.at += 1;
  const outer = scan.key;
  const fault = scanInlinePairs(scan, `${outer}.`);
  if (fault === undefined) scan.key = outer;
  return fault;
}

function scanInlinePairs(scan: Scan, within: string): Fault {
  for (;;) {
    skip(scan, /[ \t]*/y);
    if (accept(scan, '}')) return undefined;
    if (peek(scan) === '\n') return here(scan, 'newlines not allowed within inline tables');
    if (peek(scan) === ',') return here(scan, 'unexpected comma');
    const fault = scanPair(scan, within);
    if (fault !== undefined) return fault;
    skip(scan, /[ \t]*/y);
    if (accept(scan, '}')) return undefined;
    if (peek(scan) === '\n') return here(scan, 'newlines not allowed within inline tables');
    if (!accept(scan, ',')) {
      const expected = "expected a comma or an inline table terminator '}'";
      return after(scan, `${expected}, but got ${characterOrEnd(scan)} instead`);
    }
    if (/^[ \t]*\}/.test(scan.text.slice(scan.at))) {
      return here(scan, 'trailing comma not allowed in inline tables');
    }
  }
}

function scanString(scan: Scan): Fault {
  const quote = peek(scan);
  const isLong = scan.text.startsWith(quote.repeat(3), scan.at);
  const end = quote.repeat(isLong ? 3 : 1);
  scan.at += end.length;
  while (!scan.text.startsWith(end, scan.at)) {
    const next = peek(scan);
    if (next === '')
      return here(scan, `unexpected EOF; expected ${quote === "'" ? `"${end}"` : `'${end}'`}`);
    if (next === '\n' && !isLong) return here(scan, 'strings cannot contain newlines');
    scan.at += 1;
    const fault = next === '\\' && quote === '"' ? scanEscape(scan, isLong) : undefined;
    if (fault !== undefined) return fault;
  }
  scan.at += end.length;
  // A long string may end with up to two quotes of its own.
  if (isLong) skip(scan, new RegExp(`${quote}{0,2}`, 'y'));
  return undefined;
}

function scanEscape(scan: Scan, isLong: boolean): Fault {
  const letter = peek(scan);
  scan.at += 1;
  if ('btnfr" \t\\'.includes(letter) || (isLong && /[\r\n]/.test(letter))) return undefined;
  if (letter !== 'u' && letter !== 'U') {
    return here(scan, `invalid escape in string '\\${letter}'`);
  }
  skip(scan, letter === 'u' ? /[0-9a-f]{0,4}/iy : /[0-9a-f]{0,8}/iy);
  return undefined;
}

// Steps

function peek(scan: Scan): string {
  return scan.text.charAt(scan.at);
}

function accept(scan: Scan, character: string): boolean {
  if (peek(scan) !== character) return false;
  scan.at += 1;
  return true;
}

/** Moves past what the sticky pattern matches. */
function skip(scan: Scan, pattern: RegExp): undefined {
  pattern.lastIndex = scan.at;
  scan.at += pattern.exec(scan.text)?.[0].length ?? 0;
}

/** White space, newlines and comments, as allowed between the values of an array. */
function skipBlank(scan: Scan): void {
  skip(scan, /(?:[ \t\r\n]|#[^\n]*)*/y);
}

// Sentences

function sentence(scan: Scan, line: number, message: string): string {
  const key = currentKey(scan);
  return `toml: line ${line}${key === '' ? '' : ` (last key ${JSON.stringify(key)})`}: ${message}`;
}

function currentKey(scan: Scan): string {
  return [scan.table, scan.key].filter((part) => part !== '').join('.');
}

/** A newline belongs to the line that it ends; the end of the text to the last line with text. */
function lineAt(scan: Scan, at: number): number {
  const before = scan.text.slice(0, at);
  const line = before.split('\n').length;
  return at >= scan.text.length && before.endsWith('\n') ? line - 1 : line;
}

function here(scan: Scan, message: string): string {
  return sentence(scan, lineAt(scan, scan.at), message);
}

/** As `here`, but a newline that is in the way counts as the start of the next line. */
function after(scan: Scan, message: string): string {
  return sentence(scan, lineAt(scan, scan.at) + (peek(scan) === '\n' ? 1 : 0), message);
}

function found(scan: Scan, expected: string, suffix = ' instead'): string {
  return here(scan, `${expected} ${quoted(scan)}${suffix}`);
}

function characterOrEnd(scan: Scan): string {
  const point = scan.text.codePointAt(scan.at);
  return point === undefined ? 'end of file' : `'${String.fromCodePoint(point)}'`;
}

/** The next character as Go's `%q` shows it; the end of the text is character 0. */
function quoted(scan: Scan): string {
  const point = scan.text.codePointAt(scan.at) ?? 0;
  const ESCAPED: Readonly<Record<number, string>> = {
    0: '\\x00',
    9: '\\t',
    10: '\\n',
    13: '\\r',
    39: "\\'",
    92: '\\\\',
  };
  return `'${ESCAPED[point] ?? String.fromCodePoint(point)}'`;
}
