/** Durations in Go's text form, such as `1h30m0s`, as nanoseconds. */

import { goTimeQuote } from './go-time-quote';

export const MILLISECOND = 1_000_000n;
export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', MILLISECOND],
  ['s', SECOND],
  ['m', MINUTE],
  ['h', 60n * MINUTE],
]);

/** Of a negative duration; of a positive one it is one less. */
const LARGEST = 2n ** 63n;

type Parsed = { readonly nanoseconds: bigint } | { readonly error: string };

/**
 * Reads a duration. The error has Go's words.
 *
 * @see Go time.ParseDuration
 */
export function parseGoDuration(text: string): Parsed {
  const invalid = { error: `time: invalid duration ${goTimeQuote(text)}` };
  const negative = text.startsWith('-');
  const body = /^[-+]/.test(text) ? text.slice(1) : text;
  if (body === '0') return { nanoseconds: 0n };
  if (body === '') return invalid;
  let sum = 0n;
  for (let rest = body; rest !== '';) {
    const number = /^(\d*)(?:\.(\d*))?/.exec(rest);
    const [all = '', whole = '', fraction = ''] = number ?? [];
    if (whole === '' && fraction === '') return invalid;
    if (BigInt(whole === '' ? 0 : whole) > LARGEST) return invalid;
    rest = rest.slice(all.length);
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? '';
    if (unit === '') {
      return { error: `time: missing unit in duration ${goTimeQuote(text)}` };
    }
    const factor = UNITS.get(unit);
    if (factor === undefined) {
      const [name, duration] = [goTimeQuote(unit), goTimeQuote(text)];
      return { error: `time: unknown unit ${name} in duration ${duration}` };
    }
    rest = rest.slice(unit.length);
    sum += BigInt(whole === '' ? 0 : whole) * factor + fractionOf(fraction, factor);
    if (sum > LARGEST) return invalid;
  }
  if (negative) return { nanoseconds: -sum };
  return sum === LARGEST ? invalid : { nanoseconds: sum };
}

/** Nanoseconds; undefined where Go reports an error. */
export function goDurationOf(text: string): bigint | undefined {
  const parsed = parseGoDuration(text);
  return 'error' in parsed ? undefined : parsed.nanoseconds;
}

/** Go computes it in floating point, and stops at digits that no int64 holds. */
function fractionOf(digits: string, factor: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (next >= LARGEST) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(factor) / scale)));
}

/** @see Go time.Duration.String */
export function formatGoDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 0n) return `-${formatGoDuration(-nanoseconds)}`;
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}\u00b5s`;
  if (nanoseconds < SECOND) return `${decimal(nanoseconds, MILLISECOND)}ms`;
  const minutes = nanoseconds / MINUTE;
  const seconds = `${decimal(nanoseconds % MINUTE, SECOND)}s`;
  if (minutes === 0n) return seconds;
  if (minutes < 60n) return `${minutes}m${seconds}`;
  return `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`;
}
