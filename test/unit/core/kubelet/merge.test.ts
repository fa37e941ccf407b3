import { mergeConfigurations, type GoFields } from '../../../../core/kubelet';

describe('merging configurations', () => {
  test.each<readonly [string, GoFields, GoFields, GoFields]>([
    ['a value wins', { maxPods: 5n }, { maxPods: 6n }, { maxPods: 6n }],
    [
      'zero does not',
      { maxPods: 5n, address: 'a' },
      { maxPods: 0n, address: '' },
      { maxPods: 5n, address: 'a' },
    ],
    [
      'nor does false',
      { rotateCertificates: true },
      { rotateCertificates: false },
      { rotateCertificates: true },
    ],
    [
      'a pointer to zero counts where there is none',
      {},
      { kubeAPIQPS: 0n, failSwapOn: false },
      { kubeAPIQPS: 0n, failSwapOn: false },
    ],
    [
      'and only there',
      { kubeAPIQPS: 50n, failSwapOn: true },
      { kubeAPIQPS: 0n, failSwapOn: false },
      { kubeAPIQPS: 50n, failSwapOn: true },
    ],
    [
      'maps are merged, zero counts',
      { evictionHard: { a: '1', b: '2' } },
      { evictionHard: { b: '', c: '3' } },
      { evictionHard: { a: '1', b: '', c: '3' } },
    ],
    [
      'no map keeps a map',
      { evictionHard: { a: '1' } },
      { evictionHard: null },
      { evictionHard: { a: '1' } },
    ],
    [
      'lists replace lists',
      { clusterDNS: ['a', 'b'] },
      { clusterDNS: ['c'] },
      { clusterDNS: ['c'] },
    ],
    ['an empty list does not', { clusterDNS: ['a'] }, { clusterDNS: [] }, { clusterDNS: ['a'] }],
    [
      'structs are merged',
      { authentication: { webhook: { enabled: true, cacheTTL: 5n } } },
      { authentication: { webhook: { cacheTTL: 6n }, x509: { clientCAFile: '/ca' } } },
      {
        authentication: { x509: { clientCAFile: '/ca' }, webhook: { enabled: true, cacheTTL: 6n } },
      },
    ],
    [
      'so are structs behind pointers',
      { tracing: { endpoint: 'a' } },
      { tracing: { samplingRatePerMillion: 5n } },
      { tracing: { endpoint: 'a', samplingRatePerMillion: 5n } },
    ],
    [
      'a duration of the log keeps its form',
      { logging: { flushFrequency: { nanoseconds: 5n, asText: true } } },
      { logging: { flushFrequency: { nanoseconds: 6n, asText: false } } },
      { logging: { flushFrequency: { nanoseconds: 6n, asText: true } } },
    ],
    [
      'a quantity of the base stays',
      { logging: { options: { json: { infoBufferSize: '1Mi' } } } },
      { logging: { options: { json: { infoBufferSize: '2Mi' } } } },
      { logging: { options: { json: { infoBufferSize: '1Mi' } } } },
    ],
  ])('%s', (_, base, over, merged) => {
    expect(mergeConfigurations(base, over)).toEqual(merged);
  });
});
