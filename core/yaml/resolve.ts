/**
 * Unquoted strings that a YAML 1.1 reader would not read as strings. These rules decide quoting,
 * and so the name of a rendered config; they follow go-yaml v2 exactly.
 *
 * @see MCO pkg/controller/render/hash.go (7ff337a4), through ghodss/yaml and go-yaml v2
 */

const WORDS = new Set(
  [
    'y Y yes Yes YES true True TRUE on On ON',
    'n N no No NO false False FALSE off Off OFF',
    '~ null Null NULL',
    '.nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF',
  ].flatMap((line) => line.split(' ')),
);

const MAX_UINT64 = 2n ** 64n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** Whether the text, unquoted, would be read as null, boolean, number or time. */
export function readsAsNonString(text: string): boolean {
  if (text === '') return true;
  const first = text.charAt(0);
  if (first === '.') return WORDS.has(text) || isGoFloat(text);
  if (/[yYnNtTfFoO~]/.test(first)) return WORDS.has(text);
  if (!/[-+0-9]/.test(first)) return false;
  return WORDS.has(text) || isTimestamp(text) || isNumber(text.replaceAll('_', ''));
}

/** Base-60 numbers (`1:30`): not numbers for go-yaml, but quoted for other readers. */
export function isBase60(text: string): boolean {
  return /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/.test(text);
}

function isNumber(text: string): boolean {
  if (isInteger(text)) return true;
  return (
    /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(text) &&
    Number.isFinite(Number(text))
  );
}

/** Go's ParseInt and ParseUint with base 0. */
function isInteger(text: string): boolean {
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)$/.exec(text);
  if (match === null) return false;
  const [, sign, digits] = match;
  if (digits === undefined || /^0[oO]$/.test(digits)) return false;
  const octal = /^0[oO]?([0-7]+)$/.exec(digits);
  const magnitude = BigInt(octal === null ? digits : `0o${octal[1] ?? '0'}`);
  if (sign === '') return magnitude <= MAX_UINT64;
  return sign === '-' ? -magnitude >= MIN_INT64 : magnitude <= -MIN_INT64 - 1n;
}

function isGoFloat(text: string): boolean {
  return (
    /^\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?$/.test(text) &&
    Number.isFinite(Number(text.replaceAll('_', '')))
  );
}

const TIMESTAMP =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|([-+])(\d\d):(\d\d)))|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (match === null) return false;
  const at = (group: number): number => Number(match[group] ?? 0);
  const [month, day] = [at(2), at(3)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(at(1), month)) return false;
  if (at(4) > 23 || at(5) > 59 || at(6) > 59) return false;
  if (at(10) > 23 || at(11) > 59 || at(12) > 59) return false;
  return at(8) <= 24 && at(9) <= 60;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
