/** Kubernetes' quantities: `1Gi`, `500m`, `1e3`. */

const FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX = "unable to parse quantity's suffix";

/** Powers of 10; `BINARY` of 1024. */
const DECIMAL: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const MAX_INT64 = 2n ** 63n - 1n;
/** Beyond it, the text would be longer than any resource is large. */
const MAX_EXPONENT = 1000;

/** `digits × 10^exponent`, and how it is to be written. */
interface Amount {
  readonly digits: bigint;
  readonly exponent: number;
  readonly format: 'decimal' | 'exponent' | 'binary';
}

interface Parts {
  readonly negative: boolean;
  /** Without leading zeros; never empty. */
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
}

/**
 * The quantity as the API server writes it (`1024Mi` is `1Gi`), or the error in Kubernetes' words.
 *
 * @see apimachinery resource.ParseQuantity, Quantity.MarshalJSON
 */
export function canonicalQuantity(
  text: string,
): { readonly quantity: string } | { readonly error: string } {
  const parts = partsOf(text);
  if (parts === undefined) return { error: FORMAT };
  const unit = unitOf(parts.suffix);
  if (unit === undefined) return { error: SUFFIX };
  if (text === '0' || isWrittenAsGiven(parts, unit)) return { quantity: text };
  return { quantity: write(amountOf(parts, unit)) };
}

function partsOf(text: string): Parts | undefined {
  if (text === '') return undefined;
  const match = /^([+-]?)0*(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  return { negative: sign === '-', whole: whole === '' ? '0' : whole, fraction, suffix };
}

interface Unit {
  readonly format: Amount['format'];
  /** Power of 10, or of 2 when the format is binary. */
  readonly power: number;
}

function unitOf(suffix: string): Unit | undefined {
  const power = DECIMAL.get(suffix);
  if (power !== undefined) return { format: 'decimal', power };
  const binary = BINARY.indexOf(suffix);
  if (binary > 0) return { format: 'binary', power: binary * 10 };
  const exponent = /^[eE]([-+]?\d+)$/.exec(suffix)?.[1];
  if (exponent === undefined || Math.abs(Number(exponent)) > MAX_EXPONENT) return undefined;
  return { format: 'exponent', power: Number(exponent) };
}

/** Small numbers that look canonical keep their text, as in Kubernetes. */
function isWrittenAsGiven({ whole, fraction }: Parts, { format, power }: Unit): boolean {
  const shifted = whole + fraction;
  if (format === 'binary') {
    if (fraction !== '' || 14 - whole.length - Math.trunc((power * 3) / 10) < 0) return false;
    const value = BigInt(whole);
    return value * 2n ** BigInt(power) <= MAX_INT64 && value % 8n !== 0n;
  }
  const scale = power - fraction.length;
  if (shifted.length > 18 || scale < -9) return false;
  return scale % 3 === 0 && !shifted.endsWith('000') && !shifted.startsWith('0');
}

function amountOf(parts: Parts, { format, power }: Unit): Amount {
  const digits = BigInt(parts.whole + parts.fraction);
  const scale = -parts.fraction.length;
  const plain =
    format === 'binary'
      ? { digits: digits * 2n ** BigInt(power), exponent: scale, format }
      : { digits, exponent: scale + power, format };
  const capped = capped64(roundedUp(plain));
  return parts.negative ? { ...capped, digits: -capped.digits } : capped;
}

/** Nothing is smaller than `1n`. */
function roundedUp(amount: Amount): Amount {
  if (amount.exponent >= -9) return amount;
  const divisor = 10n ** BigInt(-9 - amount.exponent);
  return { ...amount, digits: (amount.digits + divisor - 1n) / divisor, exponent: -9 };
}

function capped64(amount: Amount): Amount {
  if (amount.format !== 'binary') return amount;
  const divisor = 10n ** BigInt(-amount.exponent);
  if (amount.digits > MAX_INT64 * divisor) return { ...amount, digits: MAX_INT64, exponent: 0 };
  return amount.digits < divisor ? { ...amount, format: 'decimal' } : amount;
}

function write(amount: Amount): string {
  if (amount.digits === 0n) return '0';
  const whole = amount.format === 'binary' ? wholeOf(amount) : undefined;
  return whole === undefined || (whole > -1024n && whole < 1024n)
    ? writeDecimal(amount)
    : writeBinary(whole);
}

/** Undefined when the amount has a fraction. */
function wholeOf({ digits, exponent }: Amount): bigint | undefined {
  const divisor = 10n ** BigInt(-exponent);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

function writeBinary(whole: bigint): string {
  let [digits, times] = [whole, 0];
  for (; digits % 1024n === 0n; times++) digits /= 1024n;
  return `${digits}${BINARY[times] ?? ''}`;
}

function writeDecimal(amount: Amount): string {
  let { digits, exponent } = amount;
  for (; digits % 10n === 0n; exponent++) digits /= 10n;
  for (; exponent % 3 !== 0; exponent--) digits *= 10n;
  if (amount.format === 'exponent') return exponent === 0 ? `${digits}` : `${digits}e${exponent}`;
  const suffix = [...DECIMAL].find(([, power]) => power === exponent)?.[0];
  return `${digits}${suffix ?? ''}`;
}
