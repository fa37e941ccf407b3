import { encodeKubeletConfiguration, type GoFields } from '../../../../core/kubelet';

const EMPTY = encodeKubeletConfiguration({});

/** The lines that an empty configuration does not have. */
function linesOf(configuration: GoFields): readonly string[] {
  const known = new Set(EMPTY.split('\n'));
  return encodeKubeletConfiguration(configuration)
    .split('\n')
    .filter((line) => !known.has(line));
}

describe('writing a KubeletConfiguration', () => {
  test('has what Go does not omit, sorted', () => {
    const lines = EMPTY.split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'apiVersion: kubelet.config.k8s.io/v1beta1',
      'authentication:',
      '  anonymous: {}',
      '  webhook:',
    ]);
    expect(lines).toEqual(
      expect.arrayContaining([
        'containerRuntimeEndpoint: ""',
        'memorySwap: {}',
        '      infoBufferSize: "0"',
        '  flushFrequency: 0',
        'syncFrequency: 0s',
      ]),
    );
  });

  test.each<readonly [GoFields, readonly string[]]>([
    [{ kind: 'Other', maxPods: 0n, evictionHard: {}, clusterDNS: [] }, []],
    [{ registryPullQPS: 0n, failSwapOn: false }, ['failSwapOn: false', 'registryPullQPS: 0']],
    [{ maxOpenFiles: 9223372036854775807n }, ['maxOpenFiles: 9223372036854775807']],
    [{ memoryThrottlingFactor: 0.75 }, ['memoryThrottlingFactor: 0.75']],
    [{ memoryThrottlingFactor: 1 }, ['memoryThrottlingFactor: 1']],
    [{ memoryThrottlingFactor: 1234567.5 }, ['memoryThrottlingFactor: 1.2345675e+06']],
    [{ syncFrequency: 5400000000000n }, ['syncFrequency: 1h30m0s']],
    [{ providerID: '1e3', address: 'yes' }, ['address: "yes"', 'providerID: "1e3"']],
    [
      { logging: { flushFrequency: { nanoseconds: 5000000000n, asText: true } } },
      ['  flushFrequency: 5s'],
    ],
    [
      { reservedMemory: [{}], staticPodURLHeader: { a: null, b: ['c'] } },
      [
        'reservedMemory:',
        '- limits: null',
        '  numaNode: 0',
        'staticPodURLHeader:',
        '  a: null',
        '  b:',
        '  - c',
      ],
    ],
    [
      { registerWithTaints: [{ key: 'a', timeAdded: '2024-01-02T03:04:05Z' }] },
      ['registerWithTaints:', '- effect: ""', '  key: a', '  timeAdded: "2024-01-02T03:04:05Z"'],
    ],
  ])('%#', (configuration, lines) => {
    expect(linesOf(configuration)).toEqual(lines);
  });
});
