export { decodeBase64, encodeBase64, isBase64 } from './base64';
export { dataUrlError, decodeDataUrl, encodeDataUrl, type DataUrl } from './data-url';
export { goJson } from './go-json';
export { parseGoUrl, queryValues, type GoUrl } from './go-url';
export { decodeUtf8, encodeUtf8, utf8Length } from './utf8';
