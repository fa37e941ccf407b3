/** Base 64 with the standard alphabet, as strict as Go's StdEncoding. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

/** What was wrong, as Go says it; `at` is the index of the offending input byte. */
export interface Base64Error {
  readonly error: string;
  readonly at: number;
}

/**
 * Decodes padded base 64; line breaks are skipped, everything else is refused.
 *
 * @returns the bytes, or the error (no exception: callers report it with their own context)
 */
export function decodeBase64(text: string): { readonly bytes: Uint8Array } | Base64Error {
  if (isBase64(text)) return { bytes: decodeClean(text) };
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let length = 0;
  let at = 0;
  while (at < text.length) {
    const quantum = readQuantum(text, at);
    if ('error' in quantum) return quantum;
    for (const byte of quantum.bytes) bytes[length++] = byte;
    at = quantum.next;
  }
  return { bytes: bytes.subarray(0, length) };
}

/** Whether the text is padded base 64 without line breaks. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** The usual case, four characters at a time. */
function decodeClean(text: string): Uint8Array {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const length = (text.length / 4) * 3 - padding;
  const bytes = new Uint8Array(length);
  const value = (at: number): number => Math.max(0, VALUES[text.charCodeAt(at)] ?? 0);
  for (let i = 0, out = 0; i < text.length; i += 4, out += 3) {
    const bits = (value(i) << 18) | (value(i + 1) << 12) | (value(i + 2) << 6) | value(i + 3);
    bytes[out] = bits >> 16;
    bytes[out + 1] = (bits >> 8) & 0xff;
    bytes[out + 2] = bits & 0xff;
  }
  return bytes;
}

interface Quantum {
  readonly bytes: readonly number[];
  readonly next: number;
}

/** Up to four characters from `start`, line breaks skipped. */
function readQuantum(text: string, start: number): Quantum | Base64Error {
  const sextets: number[] = [];
  let at = start;
  while (sextets.length < 4) {
    if (at === text.length) {
      return sextets.length === 0 ? { bytes: [], next: at } : corrupt(at - sextets.length);
    }
    const character = text.charAt(at);
    at++;
    if (character === '\n' || character === '\r') continue;
    if (character === '=') return readPadding(text, at, sextets);
    const value = VALUES[character.charCodeAt(0)] ?? -1;
    if (value < 0) return corrupt(at - 1);
    sextets.push(value);
  }
  return { bytes: joinSextets(sextets), next: at };
}

/** The rest of a quantum after its first `=`; nothing but line breaks may follow. */
function readPadding(
  text: string,
  start: number,
  sextets: readonly number[],
): Quantum | Base64Error {
  let at = start;
  const skipBreaks = (): void => {
    while (text.charAt(at) === '\n' || text.charAt(at) === '\r') at++;
  };
  if (sextets.length < 2) return corrupt(at - 1);
  if (sextets.length === 2) {
    skipBreaks();
    if (at === text.length) return corrupt(text.length);
    if (text.charAt(at) !== '=') return corrupt(at - 1);
    at++;
  }
  skipBreaks();
  if (at < text.length) return corrupt(at);
  return { bytes: joinSextets(sextets), next: at };
}

function joinSextets(sextets: readonly number[]): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = sextets;
  const bits = (a << 18) | (b << 12) | (c << 6) | d;
  return [bits >> 16, (bits >> 8) & 0xff, bits & 0xff].slice(0, Math.max(0, sextets.length - 1));
}

function corrupt(at: number): Base64Error {
  return { error: `illegal base64 data at input byte ${at}`, at };
}

export function encodeBase64(bytes: Uint8Array): string {
  let out = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = [bytes[i], bytes[i + 1], bytes[i + 2]];
    const bits = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    out += ALPHABET.charAt(bits >> 18) + ALPHABET.charAt((bits >> 12) & 63);
    out += b === undefined ? '=' : ALPHABET.charAt((bits >> 6) & 63);
    out += c === undefined ? '=' : ALPHABET.charAt(bits & 63);
  }
  return out;
}
