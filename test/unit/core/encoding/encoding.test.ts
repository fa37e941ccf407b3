import fc from 'fast-check';

import {
  dataUrlError,
  decodeBase64,
  decodeDataUrl,
  encodeDataUrl,
  goJson,
  parseGoUrl,
  queryValues,
} from '../../../../core/encoding';

describe('base 64', () => {
  test('reads what the platform writes, with line breaks, too', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect(decodeBase64(text)).toEqual({ bytes });
        expect(decodeBase64(text.replace(/(.{4})/g, '$1\r\n'))).toEqual({ bytes });
      }),
    );
  });

  test.each([
    ['a', 0],
    ['aGVsbG8', 4],
    ['a$$b', 1],
    ['====', 0],
    ['a=b=', 1],
    ['aa=', 3],
    ['aa=b', 2],
    ['aa==b', 4],
  ])('%s is refused at %i', (text, at) => {
    expect(decodeBase64(text)).toEqual({ error: `illegal base64 data at input byte ${at}` });
  });
});

describe('data URLs', () => {
  test('what was encoded is decoded', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeDataUrl(encodeDataUrl(bytes))).toEqual({ bytes });
      }),
    );
  });

  test.each([
    ['data:,', ''],
    ['data:,hello%20x', 'hello x'],
    ['data:text/plain;charset=utf-8;base64,aGVsbG8=', 'hello'],
    ['data:;base64,aGVs\nbG8=', 'hello'],
    ['data:text/plain;x="a;b",1', '1'],
    ['data:x-own/type,1', '1'],
  ])('%s', (url, text) => {
    const decoded = decodeDataUrl(url);
    expect(decoded.error).toBeUndefined();
    expect(decoded).toEqual({ bytes: new TextEncoder().encode(text) });
    expect(dataUrlError(url)).toBeUndefined();
  });

  test.each([
    ['date:,', 'missing data prefix'],
    ['data:', 'missing comma before data'],
    ['data:?', 'invalid character after data prefix'],
    ['data:text', 'missing media type slash'],
    ['data:foo/bar,1', 'invalid media type'],
    ['data:text/plain', 'incomplete media type'],
    ['data:;,', 'unterminated parameter sequence'],
    ['data:;base32,x', 'expected base64, got base32'],
    ['data:;a=', 'missing comma before data'],
    ['data:;a="x', 'unclosed quoted string'],
    ['data:,a b', 'invalid data character'],
    ['data:,%zz', 'rfc2396: invalid char 0x25 in unescape sequence'],
    ['data:,%2', 'rfc2396: unexpected end of unescape sequence'],
    ['data:;base64,a$$b', 'invalid data character'],
    ['data:;base64,aGVsbG8', 'illegal base64 data at input byte 4'],
  ])('%s is refused: %s', (url, error) => {
    expect(decodeDataUrl(url)).toEqual({ error });
    expect(dataUrlError(url)).toBe(error);
  });
});

describe("Go's URLs", () => {
  test.each([
    ['HTTP://a/b?c=d#e', 'http'],
    ['data:,x', 'data'],
    ['/relative', ''],
    ['http://[fe80::1%25en0]:80/', 'http'],
    ['https://user:pw@h:8080', 'https'],
    ['http://h:', 'http'],
  ])('%s has the scheme "%s"', (url, scheme) => {
    expect(parseGoUrl(url)?.scheme).toBe(scheme);
  });

  test.each([
    '::',
    'a b:c/',
    'http://a b/',
    'http://h:x/',
    'http://[::1',
    'http://a/%zz',
    'a\u0000',
    'http://h#%z',
  ])('%j is no URL', (url) => {
    expect(parseGoUrl(url)).toBeUndefined();
  });

  test('values of a query', () => {
    expect(queryValues('a=1&b&a=2&c;d=3', 'a')).toEqual(['1', '2']);
    expect(queryValues('a=1&b', 'b')).toEqual(['']);
    expect(queryValues('', 'a')).toEqual([]);
  });
});

test("Go's JSON escapes what HTML would take for its own", () => {
  expect(goJson({ a: '<&>\u2028' })).toBe('{"a":"\\u003c\\u0026\\u003e\\u2028"}');
});
