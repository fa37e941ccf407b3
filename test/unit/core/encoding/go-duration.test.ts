import { formatGoDuration, parseGoDuration } from '../../../../core/encoding/go-duration';

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
});
