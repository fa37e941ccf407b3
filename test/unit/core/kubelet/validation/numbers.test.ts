import { kubeletProblems } from '../../../../../core/kubelet/validation';
import { judged, shownAs } from './judged';

/** The last value below or above the range, and the edge of the range. */
const EDGES: readonly (readonly [
  field: string,
  refused: number,
  says: string,
  accepted: number,
])[] = [
  ['eventBurst', -1, '0 or more', 0],
  ['eventRecordQPS', -1, '0 or more', 0],
  ['registryBurst', -1, '0 or more', 0],
  ['registryPullQPS', -1, '0 or more', 0],
  ['kubeAPIBurst', -1, '0 or more', 0],
  ['kubeAPIQPS', -1, '0 or more', 0],
  ['maxPods', -1, '0 or more', 0],
  ['podsPerCore', -1, '0 or more', 0],
  ['podsPerCore', 2 ** 31, '0 to 2147483647', 2 ** 31 - 1],
  ['nodeLeaseDurationSeconds', -1, '0 or more', 0],
  ['maxOpenFiles', -1, '0 or more', 2 ** 31],
  ['nodeStatusMaxImages', -2, '-1 or more', -1],
  ['maxParallelImagePulls', 0, '1 or more', 1],
  ['containerLogMaxWorkers', 0, '1 or more', 1],
  ['containerLogMaxFiles', 1, '2 or more', 2],
  ['evictionMaxPodGracePeriod', 2 ** 31, '-2147483648 to 2147483647', -1],
  ['port', 65_536, '0 to 65535', 65_535],
  ['port', -1, '0 to 65535', 0],
  ['readOnlyPort', 65_536, '0 to 65535', 65_535],
  ['readOnlyPort', -1, '0 to 65535', 0],
  ['healthzPort', 65_536, '0 to 65535', 65_535],
  ['healthzPort', -1, '0 to 65535', 0],
  ['imageGCHighThresholdPercent', 101, '0 to 100', 100],
  ['imageGCLowThresholdPercent', -1, '0 to 100', 0],
  ['iptablesDropBit', 32, '0 to 31', 31],
  ['iptablesMasqueradeBit', -1, '0 to 31', 0],
  ['oomScoreAdj', -1001, '-1000 to 1000', -1000],
  ['oomScoreAdj', 1001, '-1000 to 1000', 1000],
];

judged(
  EDGES.map(([field, refused, allowed, accepted]) => ({
    about: `${field} ${refused}`,
    refused: { [field]: refused },
    at: field,
    says: `is ${refused}, outside of ${allowed}`,
    fix: `write ${allowed}`,
    accepted: { [field]: accepted },
  })),
);

judged([
  {
    about: 'parts of a pod',
    refused: { maxPods: 110.5 },
    at: 'maxPods',
    says: 'is 110.5, which is not whole',
    accepted: { maxPods: 110 },
  },
  {
    about: 'a low threshold of images that is not below the high one',
    refused: { imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 70 },
    at: 'imageGCLowThresholdPercent',
    says: 'is 70, not below imageGCHighThresholdPercent (70)',
    accepted: { imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 69 },
  },
  {
    about: 'a high threshold of images that is not above the default of the low one',
    refused: { imageGCHighThresholdPercent: 80 },
    at: 'imageGCHighThresholdPercent',
    says: 'is 80, not above imageGCLowThresholdPercent (80 by default)',
    fix: 'raise it, or set imageGCLowThresholdPercent below 80',
    accepted: { imageGCHighThresholdPercent: 81 },
  },
  {
    about: 'parallel pulls that are serialized',
    refused: { maxParallelImagePulls: 2, serializeImagePulls: true },
    at: 'maxParallelImagePulls',
    says: 'is 2, but serializeImagePulls is true, which allows one',
    accepted: { maxParallelImagePulls: 2 },
  },
  {
    about: 'one pull at a time, in parallel',
    refused: { maxParallelImagePulls: 3, serializeImagePulls: true },
    at: 'maxParallelImagePulls',
    says: 'is 3, but serializeImagePulls is true, which allows one',
    accepted: { maxParallelImagePulls: 1, serializeImagePulls: true },
  },
  {
    about: 'a throttling factor of zero',
    refused: { memoryThrottlingFactor: 0 },
    at: 'memoryThrottlingFactor',
    says: 'is 0, outside of more than 0 and at most 1',
    accepted: { memoryThrottlingFactor: 0.01 },
  },
  {
    about: 'a throttling factor above one',
    refused: { memoryThrottlingFactor: 1.01 },
    at: 'memoryThrottlingFactor',
    says: 'is 1.01, outside of more than 0 and at most 1',
    accepted: { memoryThrottlingFactor: 1 },
  },
  {
    about: 'one port for two servers',
    refused: { readOnlyPort: 10_250 },
    at: 'readOnlyPort',
    says: "is 10250, on which the kubelet's other server listens (port)",
    accepted: { readOnlyPort: 10_250, enableServer: false },
  },
  {
    about: 'one written port for two servers',
    refused: { readOnlyPort: 10_255, port: 10_255 },
    at: 'readOnlyPort',
    says: "is 10255, on which the kubelet's other server listens (port)",
    accepted: { readOnlyPort: 10_255, port: 10_256 },
  },
  {
    about: 'a sampling rate above one million',
    refused: { tracing: { samplingRatePerMillion: 1_000_001 } },
    at: 'tracing.samplingRatePerMillion',
    says: 'is 1000001, outside of 0 to 1000000',
    accepted: { tracing: { samplingRatePerMillion: 1_000_000 } },
  },
  {
    about: 'a negative verbosity',
    refused: { logging: { verbosity: -1 } },
    at: 'logging.verbosity',
    says: 'is -1, outside of 0 to 2147483647',
    accepted: { logging: { verbosity: 10 } },
  },
  {
    about: 'IDs of pods that are no multiple of 65536',
    refused: { userNamespaces: { idsPerPod: 65_537 } },
    at: 'userNamespaces.idsPerPod',
    says: 'is 65537, which is not a multiple of 65536 below 4294967296',
    accepted: { userNamespaces: { idsPerPod: 131_072 } },
  },
  {
    about: 'IDs of pods that do not divide those of a machine',
    refused: { userNamespaces: { idsPerPod: 196_608 } },
    at: 'userNamespaces.idsPerPod',
    says: 'is 196608, which does not divide the 4294967296 IDs of a machine',
    accepted: { userNamespaces: { idsPerPod: 262_144 } },
  },
  {
    about: 'more pods than a machine has IDs for',
    refused: { maxPods: 65_536 },
    at: 'maxPods',
    says: 'is 65536, but a machine has IDs for 65535 pods of 65536 each',
    accepted: { maxPods: 65_535 },
  },
  {
    about: 'IDs of pods that leave too few for the default of pods',
    refused: { userNamespaces: { idsPerPod: 2 ** 26 } },
    at: 'userNamespaces.idsPerPod',
    says: 'is 67108864, but a machine has IDs for 63 pods of 67108864 each, and maxPods is 110 by default',
    accepted: { userNamespaces: { idsPerPod: 2 ** 26 }, maxPods: 63 },
  },
]);

it('names each wrong threshold of images once', () => {
  const problems = kubeletProblems({
    imageGCHighThresholdPercent: 101,
    imageGCLowThresholdPercent: 102,
  });

  expect(problems.map(shownAs)).toEqual([
    { at: 'imageGCHighThresholdPercent', says: 'is 101, outside of 0 to 100' },
    { at: 'imageGCLowThresholdPercent', says: 'is 102, outside of 0 to 100' },
  ]);
});
