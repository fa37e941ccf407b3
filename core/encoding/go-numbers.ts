/** Numbers and truth values in texts, as Go reads them. */

const INT64 = 1n << 63n;

/** @see Go strconv, Atoi */
export function parseGoInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return value >= -INT64 && value < INT64 ? value : undefined;
}

const TRUE: readonly string[] = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE: readonly string[] = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** @see Go strconv, ParseBool */
export function parseGoBoolean(text: string): boolean | undefined {
  if (TRUE.includes(text)) return true;
  return FALSE.includes(text) ? false : undefined;
}

const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/**
 * A decimal number of 32 bits. Go also reads hexadecimal numbers, NaN and infinity, none of which
 * is a sensible percentage.
 *
 * @see Go strconv, ParseFloat
 */
export function parseGoFloat32(text: string): number | undefined {
  if (!FLOAT.test(text)) return undefined;
  const value = Math.fround(Number(text));
  return Number.isFinite(value) ? value : undefined;
}
