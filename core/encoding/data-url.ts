/**
 * Data URLs (RFC 2397), the only sources of file contents that a host can read. Refusals and their
 * words are those of Ignition's library.
 */

import { decodeBase64 } from './base64';

type DataUrl =
  { readonly bytes: Uint8Array; readonly error?: undefined } | { readonly error: string };

/** The contents of a data URL, or the error. Never throws. */
export function decodeDataUrl(url: string): DataUrl {
  const header = readHeader(url);
  if ('error' in header) return header;
  const data = url.slice(header.dataAt);
  if (header.base64) {
    const wrong = wrongBase64(data);
    if (wrong !== undefined) return { error: wrong };
    const decoded = decodeBase64(data);
    return 'error' in decoded ? { error: decoded.error } : { bytes: decoded.bytes };
  }
  const wrong = wrongText(data);
  return wrong === undefined ? { bytes: unescapeBytes(data) } : { error: wrong };
}

/** The error of the URL, or undefined; does not decode the contents. */
export function dataUrlError(url: string): string | undefined {
  return decodeDataUrl(url).error;
}

/** A base 64 data URL of bytes, or of a text in UTF-8. */
export function encodeDataUrl(contents: Uint8Array | string): string {
  const bytes = typeof contents === 'string' ? Buffer.from(contents) : contents;
  return `data:;base64,${Buffer.from(bytes).toString('base64')}`;
}

interface Header {
  readonly base64: boolean;
  /** Index of the first character after the comma. */
  readonly dataAt: number;
}

type Wrong = { readonly error: string };

const PREFIX = 'data:';
const TOKEN = /[!#$%&'*+\-.^_`{|}~0-9A-Za-z]/;

function readHeader(url: string): Header | Wrong {
  if (!url.startsWith(PREFIX)) return { error: 'missing data prefix' };
  let at = PREFIX.length;
  const first = url.charAt(at);
  if (first === '') return { error: 'missing comma before data' };
  if (first !== ';' && first !== ',') {
    if (!TOKEN.test(first)) return { error: 'invalid character after data prefix' };
    const end = readMediaType(url, at);
    if (typeof end !== 'number') return end;
    at = end;
  }
  while (url.charAt(at) === ';') {
    const next = readParameter(url, at + 1);
    if ('error' in next) return next;
    if ('dataAt' in next) return next;
    at = next.at;
  }
  return { base64: false, dataAt: at + 1 };
}

/** Index of the `;` or `,` after `type/subtype`. */
function readMediaType(url: string, start: number): number | Wrong {
  // As in that library, the character after an `x` is not checked.
  const extension = /[xX]/.test(url.charAt(start));
  let at = start + (extension ? 2 : 1);
  const checked = !(extension && url.charAt(start + 1) === '-');
  for (; url.charAt(at) !== '/'; at++) {
    if (at >= url.length) return { error: 'missing media type slash' };
    if (!TOKEN.test(url.charAt(at))) return { error: 'invalid character for media type' };
  }
  const known = /^(text|image|audio|video|application|message|multipart)/;
  if (checked && !known.test(url.slice(start, at))) return { error: 'invalid media type' };
  for (at++; url.charAt(at) !== ';' && url.charAt(at) !== ','; at++) {
    if (at >= url.length) return { error: 'incomplete media type' };
    if (!TOKEN.test(url.charAt(at))) return { error: 'invalid character for media subtype' };
  }
  return at;
}

/** One parameter: `base64` before the comma ends the header, `name=value` goes on. */
function readParameter(url: string, start: number): Header | Wrong | { readonly at: number } {
  const first = url.charAt(start);
  if (first === '' || first === '=' || first === ',') {
    return { error: 'unterminated parameter sequence' };
  }
  let at = start;
  for (; url.charAt(at) !== '='; at++) {
    const character = url.charAt(at);
    if (character === '') return { error: 'unterminated parameter sequence' };
    if (character === ',') {
      const name = url.slice(start, at);
      if (name === 'base64') return { base64: true, dataAt: at + 1 };
      return { error: `expected base64, got ${name}` };
    }
    if (!TOKEN.test(character)) return { error: 'invalid character for parameter attribute' };
  }
  return readParameterValue(url, at + 1);
}

function readParameterValue(url: string, start: number): Wrong | { readonly at: number } {
  if (url.charAt(start) === '"') return readQuotedValue(url, start + 1);
  for (let at = start; ; at++) {
    const character = url.charAt(at);
    if (character === '') return { error: 'missing comma before data' };
    if (at > start && (character === ';' || character === ',')) {
      const wrong = wrongEscape(url.slice(start, at));
      return wrong === undefined ? { at } : { error: wrong };
    }
    if (!TOKEN.test(character)) return { error: 'invalid character for parameter value' };
  }
}

function readQuotedValue(url: string, start: number): Wrong | { readonly at: number } {
  const match = /^((?:[^"\\\u0080-\uffff]|\\[^\u0080-\uffff])*)"/.exec(url.slice(start));
  if (match === null) {
    return {
      error: /[\u0080-\uffff]/.test(url.slice(start))
        ? 'invalid character for parameter value'
        : 'unclosed quoted string',
    };
  }
  const at = start + match[0].length;
  const after = url.charAt(at);
  if (after === '') return { error: 'missing comma before data' };
  if (after !== ';' && after !== ',') return { error: 'expected semicolon or comma' };
  return { at };
}

function wrongBase64(data: string): string | undefined {
  return /^[A-Za-z0-9+/=\n]*$/.test(data) ? undefined : 'invalid data character';
}

function wrongText(data: string): string | undefined {
  if (/[^\x21-\x7e]|[<>#"{}|\\^[\]`]/.test(data)) return 'invalid data character';
  return wrongEscape(data);
}

function wrongEscape(data: string): string | undefined {
  const match = /%(?![0-9a-fA-F]{2})(.?)(.?)/.exec(data);
  if (match === null) return undefined;
  const [, high = '', low = ''] = match;
  const cut = high === '' || (/[0-9a-fA-F]/.test(high) && low === '');
  return cut
    ? 'rfc2396: unexpected end of unescape sequence'
    : 'rfc2396: invalid char 0x25 in unescape sequence';
}

function unescapeBytes(data: string): Uint8Array {
  const latin1 = data.replaceAll(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  return Buffer.from(latin1, 'latin1');
}
