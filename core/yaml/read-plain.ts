/**
 * The value of an unquoted scalar for go-yaml v2, and so for kubectl: `yes` is true, `0644` is 420.
 *
 * @see resolve.ts for the same decision when writing
 */

import { readsAsNonString } from './resolve';

const TRUE = /^(y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const NULL = /^(|~|null|Null|NULL)$/;
const NOT_FINITE = /^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/;
const OCTAL = /^([-+]?)0[oO]?([0-7]+)$/;
const BASED = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+)$/;
const DECIMAL = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

/**
 * The value of a scalar without quotes and tag. Times stay texts; `.inf` and `.nan` are returned as
 * numbers that JSON cannot hold, for the caller to refuse.
 */
export function readPlain(text: string): string | number | boolean | null {
  if (!readsAsNonString(text)) return text;
  if (NULL.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (NOT_FINITE.test(text)) return notFinite(text);
  const digits = text.replaceAll('_', '');
  const octal = OCTAL.exec(digits);
  if (octal !== null) return signed(octal[1], parseInt(octal[2] ?? '', 8));
  const based = BASED.exec(digits);
  if (based !== null) return signed(based[1], Number(based[2]));
  return DECIMAL.test(digits) ? Number(digits) : text;
}

function signed(sign: string | undefined, value: number): number {
  return sign === '-' ? -value : value;
}

function notFinite(text: string): number {
  if (/nan/i.test(text)) return NaN;
  return text.startsWith('-') ? -Infinity : Infinity;
}

const INTEGER = /^[-+]?[1-9][0-9]*$/;

/** The same, with integers of 64 bits that a `number` cannot hold exactly as `bigint`. */
export function readPlainExactly(text: string): string | number | bigint | boolean | null {
  const value = readPlain(text);
  const digits = text.replaceAll('_', '');
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !INTEGER.test(digits)) {
    return value;
  }
  const exact = BigInt(digits.replace(/^\+/, ''));
  return exact < 2n ** 64n && exact >= -(2n ** 63n) ? exact : value;
}
