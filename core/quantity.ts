/** Kubernetes quantities: `10G`, `1.5Mi`, `8192`, `1e3`. */

export interface Quantity {
  /** Whole units, rounded away from zero. */
  readonly value: bigint;
  /** The canonical text: `1024Mi` is `1Gi`, `1.5Mi` is `1536Ki`. */
  readonly text: string;
}

const FORM = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE])|([KMGTPE]i)|[eE]([+-]?\d+))?$/;
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
/** Quantities are exact to a billionth. */
const NANO = 1_000_000_000n;

/** Undefined for a text or a number that is no quantity. */
export function parseQuantity(source: string | number): Quantity | undefined {
  const written = String(source);
  const match = FORM.exec(written);
  if (match === null) return undefined;
  const [, sign = '', digits = '', decimal, binary, exponent] = match;
  const scale = scaleOf(decimal, binary, exponent);
  if (scale === undefined) return undefined;
  const magnitude = scaled(digits, scale);
  const nanos = sign === '-' ? -magnitude : magnitude;
  return {
    value: awayFromZero(nanos, NANO),
    text: isKept(digits, scale)
      ? written
      : canonical(nanos, binary !== undefined, exponent !== undefined),
  };
}

/**
 * Whether Kubernetes keeps the text as it is written, because it takes it for canonical: `+3`, `1E3`
 * and `1.500k` are not.
 *
 * @see apimachinery pkg/api/resource/quantity.go, ParseQuantity
 */
function isKept(digits: string, scale: Scale): boolean {
  const [whole = '', fraction = ''] = digits.replace(/^0+(?=\d)/, '').split('.');
  const shifted = `${whole}${fraction}`;
  if ('factor' in scale) {
    const room = 15 - whole.length - Math.trunc(scale.bits * 0.3) - 1;
    return room >= 0 && fraction === '' && BigInt(shifted || '0') % 8n !== 0n;
  }
  const power = scale.power - fraction.length;
  const isShort = shifted.length <= 18 && power >= -9;
  return isShort && power % 3 === 0 && !shifted.endsWith('000') && !shifted.startsWith('0');
}

/** A power of ten, or a factor of a binary suffix. */
type Scale = { readonly power: number } | { readonly factor: bigint; readonly bits: number };

function scaleOf(
  decimal: string | undefined,
  binary: string | undefined,
  exponent: string | undefined,
): Scale | undefined {
  if (binary !== undefined) {
    const bits = BINARY.findIndex((suffix) => suffix === binary) * 10;
    return { factor: 2n ** BigInt(bits), bits };
  }
  const power =
    exponent === undefined
      ? (DECIMAL.findIndex((suffix) => suffix === (decimal ?? '')) - 3) * 3
      : Number(exponent);
  return Math.abs(power) > 30 ? undefined : { power };
}

/** In billionths, rounded up. */
function scaled(digits: string, scale: Scale): bigint {
  const [whole = '', fraction = ''] = digits.split('.');
  const number = BigInt(`${whole}${fraction}` || '0');
  const factor = 'factor' in scale ? scale.factor : 1n;
  const power = ('power' in scale ? scale.power : 0) + 9 - fraction.length;
  if (power >= 0) return number * factor * 10n ** BigInt(power);
  return awayFromZero(number * factor, 10n ** BigInt(-power));
}

function awayFromZero(dividend: bigint, divisor: bigint): bigint {
  const whole = dividend / divisor;
  if (dividend % divisor === 0n) return whole;
  return whole + (dividend < 0n ? -1n : 1n);
}

/** @see apimachinery pkg/api/resource/quantity.go, CanonicalizeBytes */
function canonical(nanos: bigint, isBinary: boolean, hasExponent: boolean): string {
  if (nanos === 0n) return '0';
  const small = nanos > -1024n * NANO && nanos < 1024n * NANO;
  if (isBinary && !small && nanos % NANO === 0n) {
    const { number, steps } = shortened(nanos / NANO, 1024n, BINARY.length - 1);
    return `${number}${BINARY[steps] ?? ''}`;
  }
  const { number, steps } = shortened(nanos, 1000n, DECIMAL.length - 1);
  if (!hasExponent) return `${number}${DECIMAL[steps] ?? ''}`;
  const power = (steps - 3) * 3;
  return power === 0 ? String(number) : `${number}e${power}`;
}

function shortened(
  value: bigint,
  base: bigint,
  most: number,
): { readonly number: bigint; readonly steps: number } {
  let number = value;
  let steps = 0;
  for (; steps < most && number % base === 0n; steps++) number /= base;
  return { number, steps };
}
