/** Times in RFC 3339, with the errors of Go's package time. */

import { goTimeQuote } from './go-time-quote';

const LAYOUT = '2006-01-02T15:04:05Z07:00';

/** Fields in order: the text that Go's layout has for them, and what they match. */
const FIELDS: readonly (readonly [string, RegExp])[] = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d{2}/],
  ['-', /^-/],
  ['02', /^\d{2}/],
  ['T', /^T/],
  ['15', /^\d{2}/],
  [':', /^:/],
  ['04', /^\d{2}/],
  [':', /^:/],
  ['05', /^\d{2}(?:[.,]\d+)?/],
  ['Z07:00', /^(?:Z|[-+]\d{2}:\d{2})/],
];

type Parsed = { readonly utc: string } | { readonly error: string };

/**
 * Reads a time.
 *
 * @returns it in UTC and in whole seconds, as Kubernetes writes it; or the error in Go's words
 * @see apimachinery metav1.Time UnmarshalJSON, MarshalJSON
 */
export function parseGoTime(text: string): Parsed {
  const about = `parsing time ${goTimeQuote(text)}`;
  let rest = text;
  const parts: string[] = [];
  for (const [layout, pattern] of FIELDS) {
    const part = pattern.exec(rest)?.[0];
    if (part === undefined) {
      const found = `cannot parse ${goTimeQuote(rest)} as ${goTimeQuote(layout)}`;
      return { error: `${about} as "${LAYOUT}": ${found}` };
    }
    parts.push(part);
    rest = rest.slice(part.length);
  }
  if (rest !== '') return { error: `${about}: extra text: ${goTimeQuote(rest)}` };
  const outOfRange = rangeProblem(parts);
  if (outOfRange !== undefined) return { error: `${about}: ${outOfRange} out of range` };
  return { utc: utcOf(parts) };
}

function rangeProblem(parts: readonly string[]): string | undefined {
  const at = (index: number): number => parseInt(parts[index] ?? '0', 10);
  const [year, month, day] = [at(0), at(2), at(4)];
  if (month < 1 || month > 12) return 'month';
  if (at(6) > 23) return 'hour';
  if (at(8) > 59) return 'minute';
  if (at(10) > 59) return 'second';
  if (day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()) return 'day';
  const zone = /^[-+](\d\d):(\d\d)$/.exec(parts[11] ?? '');
  if (zone === null) return undefined;
  if (Number(zone[1]) > 24) return 'time zone offset hour';
  return Number(zone[2]) > 60 ? 'time zone offset minute' : undefined;
}

function utcOf(parts: readonly string[]): string {
  const at = (index: number): number => parseInt(parts[index] ?? '0', 10);
  const date = new Date(0);
  date.setUTCFullYear(at(0), at(2) - 1, at(4));
  date.setUTCHours(at(6), at(8), at(10));
  const zone = /^([-+])(\d\d):(\d\d)$/.exec(parts[11] ?? '');
  const minutes = zone === null ? 0 : Number(zone[2]) * 60 + Number(zone[3]);
  const local = date.getTime();
  const utc = new Date(zone?.[1] === '-' ? local + minutes * 60_000 : local - minutes * 60_000);
  return utc.toISOString().replace(/\.\d+Z$/, 'Z');
}
