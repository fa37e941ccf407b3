/** UTF-8 without TextEncoder, which the workflow sandbox does not promise. */

/** The bytes of a string; an unpaired surrogate becomes U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  if (isAscii(text)) return encodeAscii(text);
  const bytes = new Uint8Array(utf8Length(text));
  let at = 0;
  for (const character of text) {
    at = writeCodePoint(bytes, at, scalarValue(character));
  }
  return bytes;
}

/** Length in bytes, without encoding. */
export function utf8Length(text: string): number {
  if (isAscii(text)) return text.length;
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (isPair(text, i)) {
      // A surrogate pair is two units and four bytes.
      length += 2;
      i++;
    } else length += 2;
  }
  return length;
}

/** The string of some bytes; every byte that is not UTF-8 becomes U+FFFD, as in Go. */
export function decodeUtf8(bytes: Uint8Array): string {
  const parts: string[] = [];
  let chunk: number[] = [];
  for (let i = 0; i < bytes.length;) {
    const { codePoint, width } = readCodePoint(bytes, i);
    chunk.push(codePoint);
    i += width;
    if (chunk.length === 4096) {
      parts.push(String.fromCodePoint(...chunk));
      chunk = [];
    }
  }
  parts.push(String.fromCodePoint(...chunk));
  return parts.join('');
}

/** Most texts are; the scan is far cheaper than encoding. */
function isAscii(text: string): boolean {
  return !/[\u0080-\uffff]/.test(text);
}

function encodeAscii(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const REPLACEMENT = 0xfffd;

function isPair(text: string, at: number): boolean {
  const high = text.charCodeAt(at);
  const low = text.charCodeAt(at + 1);
  return high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;
}

function scalarValue(character: string): number {
  const code = character.codePointAt(0) ?? REPLACEMENT;
  return code >= 0xd800 && code <= 0xdfff ? REPLACEMENT : code;
}

function writeCodePoint(bytes: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    bytes[at] = code;
    return at + 1;
  }
  const width = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  bytes[at] = (0xf00 >> width) | (code >> (6 * (width - 1)));
  for (let k = 1; k < width; k++) {
    bytes[at + k] = 0x80 | ((code >> (6 * (width - 1 - k))) & 0x3f);
  }
  return at + width;
}

/** Smallest code point of each width: anything lower was written too long, which is an error. */
const SMALLEST = [0, 0, 0x80, 0x800, 0x10000];

function readCodePoint(
  bytes: Uint8Array,
  at: number,
): { readonly codePoint: number; readonly width: number } {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return { codePoint: first, width: 1 };
  const width = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  const wrong = { codePoint: REPLACEMENT, width: 1 };
  if (width === 0 || first > 0xf4) return wrong;
  let code = first & (0xff >> (width + 1));
  for (let k = 1; k < width; k++) {
    const next = bytes[at + k];
    if (next === undefined || (next & 0xc0) !== 0x80) return wrong;
    code = (code << 6) | (next & 0x3f);
  }
  const surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < (SMALLEST[width] ?? 0) || code > 0x10ffff || surrogate) return wrong;
  return { codePoint: code, width };
}
