/** Go's durations in their canonical text: `12h` is `12h0m0s`, `90s` is `1m30s`. */

const NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Undefined for a text that is no duration. */
export function parseDuration(text: string): string | undefined {
  if (/^[+-]?0$/.test(text)) return '0s';
  const sign = text.startsWith('-') ? '-' : '';
  const body = text.replace(/^[+-]/, '');
  let nanos = 0n;
  let at = 0;
  while (at < body.length) {
    PART.lastIndex = at;
    const match = PART.exec(body);
    if (match === null) return undefined;
    const [whole, digits = '', unit = ''] = match;
    nanos += nanosOf(digits, NANOS[unit] ?? 0n);
    at += whole.length;
  }
  return at === 0 ? undefined : nanos === 0n ? '0s' : sign + durationText(nanos);
}

function nanosOf(digits: string, unit: bigint): bigint {
  const [whole = '', fraction = ''] = digits.split('.');
  return (BigInt(`${whole}${fraction}` || '0') * unit) / 10n ** BigInt(fraction.length);
}

function durationText(nanos: bigint): string {
  const second = 1_000_000_000n;
  if (nanos < second) {
    const [unit, size] =
      nanos < 1_000n
        ? (['ns', 1n] as const)
        : nanos < 1_000_000n
          ? (['µs', 1_000n] as const)
          : (['ms', 1_000_000n] as const);
    return decimal(nanos, size) + unit;
  }
  const minute = 60n * second;
  const hours = nanos / (60n * minute);
  const minutes = (nanos / minute) % 60n;
  const seconds = `${decimal(nanos % minute, second)}s`;
  if (hours > 0n) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${minutes}m${seconds}` : seconds;
}

function decimal(nanos: bigint, size: bigint): string {
  const digits = String(size).length - 1;
  const fraction = String(nanos % size)
    .padStart(digits, '0')
    .replace(/0+$/, '');
  const whole = String(nanos / size);
  return digits === 0 || fraction === '' ? whole : `${whole}.${fraction}`;
}
