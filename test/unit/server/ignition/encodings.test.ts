import { chooseEncoding, isKnown } from '../../../../server/ignition/encodings';

describe('the encoding of an answer', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['zstd', 'zstd'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=1.0, zstd;q=0.5', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.5, identity', 'identity'],
    ['*', 'zstd'],
    ['*;q=0.1, gzip', 'gzip'],
    ['br', 'identity'],
    ['gzip;q=much, ;;,=', 'identity'],
    // Nothing is acceptable: send it plain.
    ['identity;q=0', 'identity'],
  ])('%s: %s', (accept, encoding) => {
    expect(chooseEncoding(accept)).toBe(encoding);
  });
});

describe('If-None-Match', () => {
  it.each([
    [undefined, false],
    ['"a"', true],
    ['W/"a"', true],
    ['"b", "a"', true],
    ['*', true],
    ['"b"', false],
    ['a', false],
  ])('%s: %s', (header, known) => {
    expect(isKnown(header, '"a"')).toBe(known);
  });
});
