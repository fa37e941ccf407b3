/** Quantities of Kubernetes, as precise as the kubelet reads them. */

export interface Quantity {
  /** Billionths. */
  readonly nanos: bigint;
  /**
   * Absent where the kubelet finds no whole number that fits into 64 bits, or does not look for one:
   * it also fails for large binary values such as 100Ti.
   */
  readonly whole?: bigint;
}

const SHAPE = /^([+-]?)0*(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;
const DECIMAL: Readonly<Record<string, number>> = {
  ...{ '': 0, n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 },
};
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const MOST = (1n << 63n) - 1n;
/** Nobody reserves more than this power of ten; it keeps sums short. */
const LARGEST_POWER = 400;

interface Parts {
  readonly negative: boolean;
  readonly digits: string;
  readonly fraction: string;
  /** False for a text such as "Gi", in which zero is left out. */
  readonly hasDigit: boolean;
}

/**
 * @returns undefined where Kubernetes reports an error
 * @see k8s.io/apimachinery pkg/api/resource/quantity.go (v0.36.3), ParseQuantity
 */
export function parseQuantity(text: string): Quantity | undefined {
  const match = text === '' ? null : SHAPE.exec(text);
  if (match === null) return undefined;
  const [, sign = '', number = '', fraction = '', suffix = ''] = match;
  const hasDigit = /\d/.test(text.slice(0, text.length - suffix.length));
  const digits = number === '' ? '0' : number;
  const parts = { negative: sign === '-', digits, fraction, hasDigit };
  if (Object.hasOwn(BINARY, suffix)) return binary(parts, BINARY[suffix] ?? 0);
  const exponent = Object.hasOwn(DECIMAL, suffix) ? DECIMAL[suffix] : written(suffix);
  return exponent === undefined ? undefined : decimal(parts, exponent);
}

/** The exponent in "e3" and "E-3"; Kubernetes keeps its lowest 32 bits. */
function written(suffix: string): number | undefined {
  const digits = /^[eE]([+-]?\d+)$/.exec(suffix)?.[1];
  if (digits === undefined) return undefined;
  const exponent = BigInt(digits);
  if (exponent > MOST || exponent < -MOST - 1n) return undefined;
  return Number(BigInt.asIntN(32, exponent));
}

function decimal(parts: Parts, exponent: number): Quantity | undefined {
  const { digits, fraction } = parts;
  const scale = exponent - fraction.length;
  const value = BigInt(digits + fraction);
  if (digits.length + fraction.length <= 18 && scale >= -9) {
    const whole = scale < 0 ? undefined : wholeOf(value, scale, parts.negative);
    const nanos = signed(value * powerOfTen(scale + 9), parts.negative);
    return whole === undefined ? { nanos } : { nanos, whole };
  }
  return parts.hasDigit
    ? { nanos: signed(roundedUp(value, scale + 9), parts.negative) }
    : undefined;
}

function binary(parts: Parts, exponent: number): Quantity | undefined {
  const { digits, fraction, negative } = parts;
  const value = BigInt(digits + fraction) << BigInt(exponent);
  const precision = 14 - digits.length - Math.trunc((exponent * 3) / 10);
  if (fraction === '' && precision >= 0 && value <= MOST) {
    const whole = signed(value, negative);
    return { nanos: whole * 1_000_000_000n, whole };
  }
  if (!parts.hasDigit) return undefined;
  const nanos = roundedUp(value, 9 - fraction.length);
  const most = MOST * 1_000_000_000n;
  return { nanos: signed(nanos > most ? most : nanos, negative) };
}

function wholeOf(value: bigint, scale: number, negative: boolean): bigint | undefined {
  const whole = value * powerOfTen(scale);
  return whole > MOST ? undefined : signed(whole, negative);
}

/** `value` times a power of ten; what is smaller than a billionth counts as one. */
function roundedUp(value: bigint, power: number): bigint {
  if (power >= 0) return value * powerOfTen(power);
  const divisor = powerOfTen(-power);
  return (value + divisor - 1n) / divisor;
}

function powerOfTen(power: number): bigint {
  return 10n ** BigInt(Math.min(power, LARGEST_POWER));
}

function signed(value: bigint, negative: boolean): bigint {
  return negative ? -value : value;
}
