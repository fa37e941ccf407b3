import { parseQuantity, quantityOf } from '../../../../core/encoding/quantity';

const BILLION = 1_000_000_000n;

describe('quantities of Kubernetes', () => {
  test.each([
    ['0', '0'],
    ['0.000', '0'],
    ['-', '0'],
    ['.', '0'],
    ['Ki', '0'],
    ['8192', '8192'],
    ['1023', '1023'],
    ['10000', '10k'],
    ['1024Mi', '1Gi'],
    ['1028Mi', '1028Mi'],
    ['0.5Gi', '512Mi'],
    ['1.5Mi', '1536Ki'],
    ['1.5Gi', '1536Mi'],
    ['0.3Ki', '307200m'],
    ['0.0001Ki', '102400u'],
    ['0.5', '500m'],
    ['1m', '1m'],
    ['1000m', '1'],
    ['1500M', '1500M'],
    ['1.5G', '1500M'],
    ['1000k', '1M'],
    ['-3G', '-3G'],
    ['2e3', '2e3'],
    ['2000e3', '2e6'],
    ['100e2', '10e3'],
    ['1e99', '1e99'],
    ['1e1001', '100e999'],
    ['0.1n', '1n'],
    ['01Gi', '01Gi'],
    ['1000E', '1'],
    ['16Ei', '9223372036854775807'],
    ['-1Gi', '-1Gi'],
    // Kubernetes takes these for canonical.
    ['+3', '+3'],
    ['1E3', '1E3'],
    ['1.500', '1.500'],
    ['1.500k', '1.500k'],
  ])('%s is written %s', (source, text) => {
    expect(parseQuantity(source)).toMatchObject({ text });
  });

  test.each([
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
    ['123456789012345678', 123_456_789_012_345_678n * BILLION, 123_456_789_012_345_678n],
    ['1234567890123456789', 1_234_567_890_123_456_789n * BILLION, undefined],
    ['100Ti', 109_951_162_777_600n * BILLION, undefined],
    ['16Ei', ((1n << 63n) - 1n) * BILLION, undefined],
    ['.', 0n, 0n],
    ['Ki', 0n, 0n],
  ])('%s is so many billionths, and a whole number if Kubernetes sees it', (text, nanos, whole) => {
    expect(quantityOf(text)).toMatchObject({ nanos });
    expect(quantityOf(text)?.whole).toBe(whole);
  });

  test.each([
    ['1.5Mi', 1572864n],
    ['0.3Ki', 308n],
    ['1m', 1n],
    ['-1m', -1n],
    ['1.500k', 1500n],
    ['-3G', -3_000_000_000n],
  ])('%s is about %s', (text, value) => {
    expect(parseQuantity(text)).toMatchObject({ value });
  });

  test.each([
    ...['', ' ', 'abc', '1.2.3', '1 Gi', '1 ', '1x', 'e3x', '1MB', '10GB', '1e3.5', '1,5'],
    '1constructor',
  ])('has no number in %j', (text) => {
    expect(parseQuantity(text)).toEqual({
      error:
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    });
    expect(quantityOf(text)).toBeUndefined();
  });

  test.each(['--1', '1ki', '1K', '1e', '1m5', 'e', '1e99999999999999999999'])(
    'does not know the suffix of %j',
    (text) => {
      expect(parseQuantity(text)).toEqual({ error: "unable to parse quantity's suffix" });
    },
  );

  test.each(['Pi', '.E-20'])('needs a digit in %j', (text) => {
    expect(parseQuantity(text)).toEqual({ error: 'unable to parse numeric part of quantity' });
  });

  test('are quick with large exponents', () => {
    expect(quantityOf('1e2147483647')?.nanos).toBeGreaterThan(0n);
    expect(parseQuantity('1e2147483647')).toMatchObject({ text: '10e2147483646' });
    expect(quantityOf('1e-2147483648')?.nanos).toBe(1n);
  });
});
