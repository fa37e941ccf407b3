/** UTF-8 without `TextEncoder`, which the sandbox does not have. */

const REPLACEMENT = 0xfffd;

/** UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0) ?? REPLACEMENT;
    pushUtf8(bytes, point >= 0xd800 && point <= 0xdfff ? REPLACEMENT : point);
  }
  return Uint8Array.from(bytes);
}

function pushUtf8(bytes: number[], point: number): void {
  if (point < 0x80) bytes.push(point);
  else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 63));
  else if (point < 0x10000) {
    bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
  } else {
    bytes.push(
      0xf0 | (point >> 18),
      0x80 | ((point >> 12) & 63),
      0x80 | ((point >> 6) & 63),
      0x80 | (point & 63),
    );
  }
}

/** The text of UTF-8 bytes; each byte that is not part of a valid character becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length;) {
    const { point, length } = codePointAt(bytes, i);
    parts.push(String.fromCodePoint(point));
    i += length;
  }
  return parts.join('');
}

/** Whether the bytes are valid UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length;) {
    const { point, length } = codePointAt(bytes, i);
    // A real U+FFFD takes three bytes; one that stands for a bad byte takes one.
    if (point === REPLACEMENT && length === 1) return false;
    i += length;
  }
  return true;
}

function codePointAt(bytes: Uint8Array, at: number): { point: number; length: number } {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return { point: first, length: 1 };
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || first > 0xf4) return { point: REPLACEMENT, length: 1 };
  let point = first & (0xff >> (length + 1));
  for (let i = 1; i < length; i++) {
    const next = bytes[at + i] ?? 0;
    if ((next & 0xc0) !== 0x80) return { point: REPLACEMENT, length: 1 };
    point = (point << 6) | (next & 63);
  }
  return isCanonical(point, length) ? { point, length } : { point: REPLACEMENT, length: 1 };
}

/** Neither overlong, nor a surrogate, nor beyond Unicode. */
function isCanonical(point: number, length: number): boolean {
  const least = [0, 0, 0x80, 0x800, 0x10000][length] ?? 0;
  return point >= least && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
}
