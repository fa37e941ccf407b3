import { parseQuantity } from '../../../core/quantity';

describe('a quantity', () => {
  it.each([
    ['0', 0n, '0'],
    ['8192', 8192n, '8192'],
    [1073741824, 1073741824n, '1073741824'],
    ['10000', 10000n, '10k'],
    ['1024Mi', 1073741824n, '1Gi'],
    ['1.5Mi', 1572864n, '1536Ki'],
    ['0.5Gi', 536870912n, '512Mi'],
    ['1023', 1023n, '1023'],
    ['0.3Ki', 308n, '307200m'],
    ['-3G', -3000000000n, '-3G'],
    ['1m', 1n, '1m'],
    ['2e3', 2000n, '2e3'],
    ['2000e3', 2000000n, '2e6'],
    // Kubernetes takes these for canonical.
    ['+3', 3n, '+3'],
    ['1E3', 1000n, '1E3'],
    ['1.500k', 1500n, '1.500k'],
    ['1.5G', 1500000000n, '1500M'],
  ])('%s', (source, value, text) => {
    expect(parseQuantity(source)).toEqual({ value, text });
  });

  it.each(['', 'x', '1K', '1ki', '1 G', '1e', '--1', '1.2.3', '10GB', '1e99'])(
    'is not %j',
    (source) => {
      expect(parseQuantity(source)).toBeUndefined();
    },
  );
});
