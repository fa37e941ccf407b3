/** Bytes and text in pure code: base64, UTF-8, data URLs. Compression is a port (`gunzip`). */

export { decodeBase64, encodeBase64 } from './base64';
export { decodeDataUrl } from './data-url';
export { decodeUtf8, encodeUtf8, isUtf8 } from './utf8';
