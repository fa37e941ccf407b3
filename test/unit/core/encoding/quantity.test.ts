import { canonicalQuantity } from '../../../../core/encoding/quantity';

describe('quantities of Kubernetes', () => {
  test.each([
    ['0', '0'],
    ['0.000', '0'],
    ['-', '0'],
    ['1024Mi', '1Gi'],
    ['1028Mi', '1028Mi'],
    ['0.5Gi', '512Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.0001Ki', '102400u'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1500M', '1500M'],
    ['1000k', '1M'],
    ['100e2', '10e3'],
    ['1E3', '1E3'],
    ['0.1n', '1n'],
    ['1.500', '1.500'],
    ['01Gi', '01Gi'],
    ['1000E', '1'],
    ['16Ei', '9223372036854775807'],
    ['-1Gi', '-1Gi'],
  ])('%s is written %s', (text, quantity) => {
    expect(canonicalQuantity(text)).toEqual({ quantity });
  });

  test.each(['', 'abc', '1.2.3', '1 Gi', '1x', 'e3x'])('has no number in %j', (text) => {
    expect(canonicalQuantity(text)).toEqual({
      error:
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    });
  });

  test.each(['1ki', '1e', '1e99999'])('does not know the suffix of %j', (text) => {
    expect(canonicalQuantity(text)).toEqual({ error: "unable to parse quantity's suffix" });
  });
});
