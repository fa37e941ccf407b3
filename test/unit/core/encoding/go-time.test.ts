import { goFloat } from '../../../../core/encoding/go-float';
import { parseGoTime } from '../../../../core/encoding/go-time';

describe('times of Go', () => {
  test.each([
    ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05.9Z', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05+02:30', '2024-01-02T00:34:05Z'],
    ['2024-02-29T23:00:00-02:00', '2024-03-01T01:00:00Z'],
  ])('%s is %s', (text, utc) => {
    expect(parseGoTime(text)).toEqual({ utc });
  });

  const layout = 'as "2006-01-02T15:04:05Z07:00": cannot parse';
  test.each([
    ['x', `${layout} "x" as "2006"`],
    ['2024-01-02', `${layout} "" as "T"`],
    ['2024-01-02T03:04:05Zx', undefined],
    ['2024-13-02T03:04:05Z', undefined],
    ['2023-02-29T03:04:05Z', undefined],
  ])('refuses %j', (text, end) => {
    const reasons: Readonly<Record<string, string>> = {
      '2024-01-02T03:04:05Zx': ': extra text: "x"',
      '2024-13-02T03:04:05Z': ': month out of range',
      '2023-02-29T03:04:05Z': ': day out of range',
    };
    const error = `parsing time "${text}"${end === undefined ? (reasons[text] ?? '') : ` ${end}`}`;
    expect(parseGoTime(text)).toEqual({ error });
  });
});

describe('numbers of Go', () => {
  test.each([
    [0.75, '0.75'],
    [100, '100'],
    [123456, '123456'],
    [1234567.5, '1.2345675e+06'],
    [1e21, '1e+21'],
    [0.0001, '0.0001'],
    [-0.00001, '-1e-05'],
  ])('%d is %s', (value, text) => {
    expect(goFloat(value)).toBe(text);
  });

  test('of single precision has fewer digits', () => {
    expect(goFloat(0.1 + 0.2, 32)).toBe('0.3');
    expect(goFloat(1e20, 32)).toBe('1e+20');
  });
});
