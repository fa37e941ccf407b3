import { kubeletProblems } from '../../../../../core/kubelet/validation';
import { shownAs } from './judged';

/** As a machine of OKD has it, with what an encoder adds for fields that nobody set. */
const WHOLE = {
  kind: 'KubeletConfiguration',
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  authentication: {
    x509: { clientCAFile: '/etc/kubernetes/kubelet-ca.crt' },
    anonymous: { enabled: false },
    webhook: { cacheTTL: '0s' },
  },
  authorization: { webhook: { cacheAuthorizedTTL: '0s', cacheUnauthorizedTTL: '0s' } },
  cgroupDriver: 'systemd',
  cgroupRoot: '/',
  clusterDNS: ['172.30.0.10'],
  clusterDomain: 'cluster.local',
  containerLogMaxSize: '50Mi',
  containerRuntimeEndpoint: '',
  cpuManagerReconcilePeriod: '0s',
  crashLoopBackOff: {},
  enforceNodeAllocatable: ['pods', 'system-reserved-compressible'],
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
  evictionPressureTransitionPeriod: '0s',
  imageMaximumGCAge: '0s',
  imageMinimumGCAge: '0s',
  kubeAPIBurst: 100,
  kubeAPIQPS: 50,
  logging: {
    flushFrequency: 0,
    options: { json: { infoBufferSize: '0' }, text: { infoBufferSize: '0' } },
    verbosity: 0,
  },
  maxPods: 250,
  memorySwap: {},
  nodeStatusReportFrequency: '5m0s',
  podPidsLimit: 4096,
  runtimeRequestTimeout: '0s',
  serializeImagePulls: false,
  shutdownGracePeriod: '0s',
  shutdownGracePeriodCriticalPods: '0s',
  syncFrequency: '0s',
  systemCgroups: '/system.slice',
  systemReserved: { 'ephemeral-storage': '1Gi' },
  systemReservedCgroup: '/system.slice',
  tlsCipherSuites: ['TLS_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'],
  tlsMinVersion: 'VersionTLS12',
  volumeStatsAggPeriod: '0s',
};

it('accepts nothing at all', () => {
  expect(kubeletProblems({})).toEqual([]);
});

it('accepts the configuration of a machine', () => {
  expect(kubeletProblems(WHOLE)).toEqual([]);
});

it('names all wrong values at once', () => {
  const problems = kubeletProblems({
    ...WHOLE,
    maxPods: -1,
    evictionSoft: { 'memory.available': '5%' },
    featureGates: { Unknown: true },
  });

  expect(problems.map((problem) => shownAs(problem)?.at)).toEqual([
    'featureGates.Unknown',
    'maxPods',
    'evictionSoft.memory.available',
  ]);
});

it('takes null and values of another type for absent', () => {
  const nothing = Object.fromEntries(Object.keys(WHOLE).map((name) => [name, null]));
  const numbers = Object.fromEntries(
    ['evictionHard', 'featureGates', 'logging', 'systemReserved', 'address'].map((name) => [
      name,
      1,
    ]),
  );

  expect(kubeletProblems(nothing)).toEqual([]);
  expect(kubeletProblems(numbers)).toEqual([]);
});

it('is not confused by names of JavaScript', () => {
  const document: unknown = JSON.parse(
    '{"featureGates":{"__proto__":true,"constructor":true},"evictionHard":{"toString":"1"}}',
  );

  expect(kubeletProblems(document as Record<string, unknown>).map(shownAs)).toEqual([
    { at: 'featureGates.__proto__', says: '"__proto__" is no feature gate of Kubernetes 1.36' },
    { at: 'featureGates.constructor', says: '"constructor" is no feature gate of Kubernetes 1.36' },
    { at: 'evictionHard.toString', says: '"toString" is no eviction signal' },
  ]);
});
