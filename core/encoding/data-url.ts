/** Data URLs (RFC 2397), the only file sources that reach a host. */

import { decodeBase64 } from './base64';
import { encodeUtf8 } from './utf8';

/**
 * The bytes behind a data URL, percent-decoded or base64-decoded as the URL says; the media type is
 * not looked at.
 *
 * @returns undefined when it is not a data URL, or its base64 or percent-encoding is broken
 */
export function decodeDataUrl(url: string): Uint8Array | undefined {
  const comma = url.indexOf(',');
  if (!/^data:/i.test(url) || comma === -1) return undefined;
  const payload = percentDecode(url.slice(comma + 1));
  if (payload === undefined) return undefined;
  const isBase64 = url.slice(0, comma).toLowerCase().endsWith(';base64');
  if (!isBase64) return payload;
  // Base64 is ASCII, so each byte is one letter.
  return decodeBase64(Array.from(payload, (byte) => String.fromCharCode(byte)).join(''));
}

function percentDecode(text: string): Uint8Array | undefined {
  const bytes: number[] = [];
  let literal = 0;
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', literal)) {
    const hex = text.slice(at + 1, at + 3);
    if (!/^[0-9a-f]{2}$/i.test(hex)) return undefined;
    append(bytes, encodeUtf8(text.slice(literal, at)));
    bytes.push(Number.parseInt(hex, 16));
    literal = at + 3;
  }
  append(bytes, encodeUtf8(text.slice(literal)));
  return Uint8Array.from(bytes);
}

/** A loop, because spreading a large file into `push` overflows the stack. */
function append(bytes: number[], more: Uint8Array): void {
  for (const byte of more) bytes.push(byte);
}
