import { parseCpuSet } from '../../../../../core/kubelet/validation/cpu-set';
import { goDuration, parseGoDuration } from '../../../../../core/kubelet/validation/go-duration';

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

it.each([
  ['', 0],
  ['0', 1],
  ['0-3,8', 5],
  ['1,1,0-1', 2],
  ['+1', 1],
])('counts the CPUs of %j', (text, size) => {
  expect(parseCpuSet(text)).toEqual({ size });
});
