import {
  formatGoDuration,
  goDurationOf,
  parseGoDuration,
} from '../../../../core/encoding/go-duration';

describe('durations of Go', () => {
  test.each([
    ['0', '0s'],
    ['90m', '1h30m0s'],
    ['1.5h', '1h30m0s'],
    ['120000ms', '2m0s'],
    ['1h2m3.5s', '1h2m3.5s'],
    ['-5s', '-5s'],
    ['+3m', '3m0s'],
    ['2\u03bcs', '2\u00b5s'],
    ['3ns', '3ns'],
    ['.5s', '500ms'],
    ['5.s', '5s'],
    ['1.000000001s', '1.000000001s'],
    ['1m1m', '2m0s'],
    ['12h', '12h0m0s'],
    ['1500ns', '1.5\u00b5s'],
    ['9223372036854775807ns', '2562047h47m16.854775807s'],
    ['-9223372036854775808ns', '-2562047h47m16.854775808s'],
  ])('%s is %s', (text, canonical) => {
    const parsed = parseGoDuration(text);
    expect('error' in parsed ? parsed.error : formatGoDuration(parsed.nanoseconds)).toBe(canonical);
  });

  test.each([
    ['', 'time: invalid duration ""'],
    ['soon', 'time: invalid duration "soon"'],
    ['.s', 'time: invalid duration ".s"'],
    ['5', 'time: missing unit in duration "5"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['1h 2m', 'time: unknown unit "h " in duration "1h 2m"'],
    ['5\u00e9"', 'time: unknown unit "\\xc3\\xa9\\"" in duration "5\\xc3\\xa9\\""'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
  ])('refuses %j as Go does', (text, error) => {
    expect(parseGoDuration(text)).toEqual({ error });
  });

  test.each([
    ['0', 0n],
    ['+0', 0n],
    ['1h30m', 5_400_000_000_000n],
    ['1.s', 1_000_000_000n],
    ['-2m', -120_000_000_000n],
    ['1us', 1000n],
    ['1\u00b5s', 1000n],
    ['0.1ns', 0n],
    ['1ms1s', 1_001_000_000n],
    ['-9223372036854775808ns', -(1n << 63n)],
  ])('%s has %d nanoseconds', (text, nanoseconds) => {
    expect(goDurationOf(text)).toBe(nanoseconds);
  });

  test.each([
    ...['-', '+', 's', '1 s', ' 1s', '1S', '--1s', '1s-', '1.5.5s', '1e3s', 'constructor'],
    ...['-9223372036854775809ns', '9999999999999999999h'],
  ])('%j is none', (text) => {
    expect(goDurationOf(text)).toBeUndefined();
  });
});
