/** Durations as Go writes and reads them. */

/** Nanoseconds of each unit. */
const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

export const MILLISECOND = 1_000_000n;
export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;

const LIMIT = 1n << 63n;
/** A unit ends before the next digit or point. */
const PART = /^(\d*)(?:(\.)(\d*))?([^\d.]+)/;

/**
 * @returns nanoseconds, or undefined where Go reports an error
 * @see Go time, ParseDuration
 */
export function parseGoDuration(text: string): bigint | undefined {
  const negative = text.startsWith('-');
  let rest = negative || text.startsWith('+') ? text.slice(1) : text;
  if (rest === '0') return 0n;
  if (rest === '') return undefined;
  let sum = 0n;
  while (rest !== '') {
    const match = PART.exec(rest);
    const part = match === null ? undefined : partOf(match);
    if (match === null || part === undefined) return undefined;
    sum += part;
    if (sum > LIMIT) return undefined;
    rest = rest.slice(match[0].length);
  }
  if (negative) return -sum;
  return sum < LIMIT ? sum : undefined;
}

function partOf(match: RegExpExecArray): bigint | undefined {
  const [, whole = '', , fraction = '', name = ''] = match;
  const unit = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
  if (unit === undefined || (whole === '' && fraction === '')) return undefined;
  const units = BigInt(whole);
  if (units > LIMIT || units * unit > LIMIT) return undefined;
  const part = units * unit + fractionOf(fraction, unit);
  return part > LIMIT ? undefined : part;
}

/** As precise as Go: digits that an int64 has no room for are dropped. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (value > (LIMIT - 1n) / 10n || next > LIMIT) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

/** As Go prints it, for whole milliseconds and more; smaller ones in nanoseconds. */
export function goDuration(nanoseconds: bigint): string {
  const fitting = ['h', 'm', 's', 'ms'].find((name) => nanoseconds % (UNITS[name] ?? 1n) === 0n);
  if (nanoseconds === 0n) return '0s';
  return `${nanoseconds / (UNITS[fitting ?? 'ns'] ?? 1n)}${fitting ?? 'ns'}`;
}
