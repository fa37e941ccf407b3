import { parseCpuSet } from '../../../../../core/kubelet/validation/cpu-set';
import { goDuration, parseGoDuration } from '../../../../../core/kubelet/validation/go-duration';
import { parseQuantity } from '../../../../../core/kubelet/validation/quantity';

const BILLION = 1_000_000_000n;

describe('durations', () => {
  it.each([
    ['0', 0n],
    ['+0', 0n],
    ['1h30m', 5400n * BILLION],
    ['1.5s', 1_500_000_000n],
    ['.5s', 500_000_000n],
    ['1.s', BILLION],
    ['-2m', -120n * BILLION],
    ['1us', 1000n],
    ['1\u00b5s', 1000n],
    ['1\u03bcs', 1000n],
    ['0.1ns', 0n],
    ['1ms1s', 1_001_000_000n],
    ['9223372036854775807ns', (1n << 63n) - 1n],
    ['-9223372036854775808ns', -(1n << 63n)],
  ])('reads %j', (text, nanoseconds) => {
    expect(parseGoDuration(text)).toBe(nanoseconds);
  });

  it.each([
    ...['', '5', '-', '+', 's', '.s', '1d', '1 s', ' 1s', '1S', '--1s', '1s-', '1.5.5s', '1e3s'],
    ...['9223372036854775808ns', '-9223372036854775809ns', '9999999999999999999h', 'constructor'],
  ])('refuses %j', (text) => {
    expect(parseGoDuration(text)).toBeUndefined();
  });

  it.each([
    [0n, '0s'],
    [120n * BILLION, '2m'],
    [5400n * BILLION, '90m'],
    [1_500_000_000n, '1500ms'],
    [1n, '1ns'],
  ])('prints %i ns', (nanoseconds, text) => {
    expect(goDuration(nanoseconds)).toBe(text);
  });
});

describe('quantities', () => {
  it.each([
    ['1', BILLION, 1n],
    ['100m', 100_000_000n, undefined],
    ['1Ki', 1024n * BILLION, 1024n],
    ['-1k', -1000n * BILLION, -1000n],
    ['1.5Gi', 1_610_612_736n * BILLION, undefined],
    ['1e3', 1000n * BILLION, 1000n],
    ['1E', 10n ** 18n * BILLION, 10n ** 18n],
    ['10E', 10n ** 19n * BILLION, undefined],
    ['0.0000000001', 1n, undefined],
    ['-0.0000000001', -1n, undefined],
    ['1Ti', 1_099_511_627_776n * BILLION, 1_099_511_627_776n],
    ['100Ti', 109_951_162_777_600n * BILLION, undefined],
    ['16Ei', ((1n << 63n) - 1n) * BILLION, undefined],
    ['.', 0n, 0n],
    ['Ki', 0n, 0n],
  ])('reads %j', (text, nanos, whole) => {
    expect(parseQuantity(text)).toEqual(whole === undefined ? { nanos } : { nanos, whole });
  });

  it.each([
    ...['', ' ', 'x', '1x', '1 ', '1MB', '1ki', '1K', '1e', '1e3.5', '1..5', '--1', '1m5', 'Pi'],
    ...['1e99999999999999999999', '1constructor', '1,5'],
  ])('refuses %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  it('stays quick with a large exponent', () => {
    expect(parseQuantity('1e2147483647')?.nanos).toBeGreaterThan(0n);
  });
});

it.each([
  ['', 0],
  ['0', 1],
  ['0-3,8', 5],
  ['1,1,0-1', 2],
  ['+1', 1],
])('counts the CPUs of %j', (text, size) => {
  expect(parseCpuSet(text)).toEqual({ size });
});
