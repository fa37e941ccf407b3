/** Texts in quotes as Go writes them, for MCO's status messages and errors. */

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** Go's unicode.IsPrint: of all spaces only the ASCII one. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** A text in double quotes with Go's escapes (strconv.Quote, `%q`). */
export function goQuote(text: string): string {
  return `"${[...text].map(quoted).join('')}"`;
}

/** One character in single quotes (strconv.QuoteRune, `%q`). */
export function goQuoteRune(character: string): string {
  if (character === "'") return "'\\''";
  return character === '"' ? `'"'` : `'${quoted(character)}'`;
}

function quoted(character: string): string {
  const escape = Object.hasOwn(ESCAPES, character) ? ESCAPES[character] : undefined;
  if (escape !== undefined) return escape;
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd'; // Go strings have no lone surrogates
  const hex = code.toString(16);
  if (code < 0x20 || code === 0x7f) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
