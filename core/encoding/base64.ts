/** Standard base64 (RFC 4648 section 4). The sandbox has neither `atob` nor `Buffer`. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const VALUE_OF: ReadonlyMap<string, number> = new Map(
  Array.from(ALPHABET, (letter, value) => [letter, value] as const),
);

/**
 * The bytes of standard base64 with padding; line breaks are skipped. As strict as Go's
 * `base64.StdEncoding`: a letter outside the alphabet or wrong padding is refused.
 *
 * @returns undefined when the text is not base64
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const compact = text.replace(/[\r\n]/g, '');
  if (compact.length % 4 !== 0) return undefined;
  const padding = compact.endsWith('==') ? 2 : compact.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array((compact.length / 4) * 3 - padding);
  let filled = 0;
  let bits = 0;
  let bitCount = 0;
  for (let i = 0; i < compact.length - padding; i++) {
    const value = VALUE_OF.get(compact.charAt(i));
    if (value === undefined) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[filled++] = (bits >> bitCount) & 0xff;
    }
  }
  return bytes;
}

/** Standard base64 with padding, without line breaks. */
export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(i, i + 3);
    const group = (a << 16) | (b << 8) | c;
    const present = Math.min(bytes.length - i, 3) + 1;
    for (let letter = 0; letter < 4; letter++) {
      text += letter < present ? ALPHABET.charAt((group >> (18 - 6 * letter)) & 63) : '=';
    }
  }
  return text;
}
