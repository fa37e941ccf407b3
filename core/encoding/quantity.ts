/** Kubernetes' quantities: `1Gi`, `500m`, `1e3`. */

export interface Quantity {
  /** Billionths; nothing is smaller than one of them. */
  readonly nanos: bigint;
  /** Whole units, rounded away from zero. */
  readonly value: bigint;
  /**
   * Absent where Kubernetes finds no whole number that fits into 64 bits, or does not look for one:
   * it also fails for large binary values such as 100Ti.
   */
  readonly whole?: bigint;
  /** As the API server writes it: `1024Mi` is `1Gi`, `1.5Mi` is `1536Ki`. */
  readonly text: string;
}

const FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX = "unable to parse quantity's suffix";
const NUMERIC = 'unable to parse numeric part of quantity';

const SHAPE = /^([+-]?)0*(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;
/** Powers of 10. */
const DECIMAL: ReadonlyMap<string, number> = new Map([
  ...([
    ['n', -9],
    ['u', -6],
    ['m', -3],
    ['', 0],
    ['k', 3],
  ] as const),
  ...([
    ['M', 6],
    ['G', 9],
    ['T', 12],
    ['P', 15],
    ['E', 18],
  ] as const),
]);
/** Powers of 1024. */
const BINARY: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const NANO = 1_000_000_000n;
const MAX_INT64 = 2n ** 63n - 1n;
/** Nobody has more than this power of ten; it keeps numbers short. */
const LARGEST_POWER = 400;

/** `digits × 10^exponent`, without the sign, and how it is to be written. */
interface Amount {
  readonly digits: bigint;
  /** At least -9. */
  readonly exponent: number;
  readonly format: 'decimal' | 'exponent' | 'binary';
}

interface Parts {
  readonly negative: boolean;
  /** Without leading zeros; never empty. */
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
  /** False for a text such as "Gi", in which zero is left out. */
  readonly hasDigit: boolean;
}

interface Unit {
  readonly format: Amount['format'];
  /** Power of 10, or of 2 when the format is binary. */
  readonly power: number;
}

/**
 * Reads a quantity, or gives the error in Kubernetes' words.
 *
 * @see k8s.io/apimachinery pkg/api/resource/quantity.go (v0.36.3), ParseQuantity
 */
export function parseQuantity(text: string): Quantity | { readonly error: string } {
  const parts = partsOf(text);
  if (parts === undefined) return { error: FORMAT };
  const unit = unitOf(parts.suffix);
  if (unit === undefined) return { error: SUFFIX };
  const small = smallAmount(parts, unit);
  if (small === undefined && !parts.hasDigit) return { error: NUMERIC };
  const amount = small ?? largeAmount(parts, unit);
  const nanos = amount.digits * powerOfTen(amount.exponent + 9);
  const whole = nanos / NANO;
  const signed = (value: bigint): bigint => (parts.negative ? -value : value);
  const fits = small !== undefined && small.exponent >= 0 && whole <= MAX_INT64;
  return {
    nanos: signed(nanos),
    value: signed(nanos % NANO === 0n ? whole : whole + 1n),
    ...(fits ? { whole: signed(whole) } : {}),
    text:
      small !== undefined && isCanonical(parts, unit)
        ? text
        : write({ ...amount, digits: signed(amount.digits) }),
  };
}

/** Undefined where Kubernetes reports an error. */
export function quantityOf(text: string): Quantity | undefined {
  const quantity = parseQuantity(text);
  return 'error' in quantity ? undefined : quantity;
}

function partsOf(text: string): Parts | undefined {
  const match = text === '' ? null : SHAPE.exec(text);
  if (match === null) return undefined;
  const [, sign, number = '', fraction = '', suffix = ''] = match;
  const hasDigit = /\d/.test(text.slice(0, text.length - suffix.length));
  const whole = number === '' ? '0' : number;
  return { negative: sign === '-', whole, fraction, suffix, hasDigit };
}

function unitOf(suffix: string): Unit | undefined {
  const decimal = DECIMAL.get(suffix);
  if (decimal !== undefined) return { format: 'decimal', power: decimal };
  const binary = BINARY.indexOf(suffix);
  if (binary > 0) return { format: 'binary', power: binary * 10 };
  const exponent = BigInt(/^[eE]([-+]?\d+)$/.exec(suffix)?.[1]?.replace('+', '') ?? MAX_INT64 + 1n);
  if (exponent !== BigInt.asIntN(64, exponent)) return undefined;
  // Kubernetes keeps its lowest 32 bits.
  return { format: 'exponent', power: Number(BigInt.asIntN(32, exponent)) };
}

/** What Kubernetes can tell to fit into 64 bits; undefined = it takes the long way. */
function smallAmount({ whole, fraction }: Parts, { format, power }: Unit): Amount | undefined {
  if (format === 'binary') {
    if (fraction !== '' || 14 - whole.length - Math.trunc((power * 3) / 10) < 0) return undefined;
    const digits = BigInt(whole) << BigInt(power);
    return digits > MAX_INT64 ? undefined : { digits, exponent: 0, format };
  }
  const [digits, exponent] = [whole + fraction, power - fraction.length];
  if (digits.length > 18 || exponent < -9) return undefined;
  return { digits: BigInt(digits), exponent, format };
}

/** Whether Kubernetes keeps the text of a small amount: `+3`, `1E3` and `1.500k` stay. */
function isCanonical({ whole, fraction }: Parts, { format, power }: Unit): boolean {
  if (format === 'binary') return BigInt(whole) % 8n !== 0n;
  const digits = whole + fraction;
  const isStep = (power - fraction.length) % 3 === 0;
  return isStep && !digits.endsWith('000') && !digits.startsWith('0');
}

function largeAmount({ whole, fraction }: Parts, { format, power }: Unit): Amount {
  const digits = BigInt(whole + fraction);
  const scale = -fraction.length;
  if (format !== 'binary') return roundedUp({ digits, exponent: scale + power, format });
  const exact = { digits: digits << BigInt(power), exponent: scale, format };
  const amount = roundedUp(exact);
  const divisor = powerOfTen(-amount.exponent);
  if (amount.digits > MAX_INT64 * divisor) return { digits: MAX_INT64, exponent: 0, format };
  return amount.digits < divisor ? { ...amount, format: 'decimal' } : amount;
}

function roundedUp(amount: Amount): Amount {
  if (amount.exponent >= -9) return amount;
  const text = String(amount.digits);
  // The rest is lost if any digit is not zero.
  const kept = Math.max(0, text.length - (-9 - amount.exponent));
  const isExact = /^0*$/.test(text.slice(kept));
  const digits = BigInt(text.slice(0, kept) || '0') + (isExact ? 0n : 1n);
  return { ...amount, digits, exponent: -9 };
}

function powerOfTen(power: number): bigint {
  return 10n ** BigInt(Math.min(power, LARGEST_POWER));
}

/** @see k8s.io/apimachinery pkg/api/resource/quantity.go (v0.36.3), CanonicalizeBytes */
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
