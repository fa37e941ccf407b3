export { decodeBase64 } from './base64';
export { dataUrlError, decodeDataUrl, encodeDataUrl } from './data-url';
export { goJson } from './go-json';
export { parseGoUrl, queryValues } from './go-url';
