export { decodeBase64 } from './base64';
export { dataUrlError, decodeDataUrl, encodeDataUrl, type DataUrl } from './data-url';
export { goJson } from './go-json';
export { parseGoUrl, queryValues, type GoUrl } from './go-url';
