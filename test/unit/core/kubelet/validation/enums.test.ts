import { judged } from './judged';

const ENUMS: readonly (readonly [field: string, refused: string, accepted: string])[] = [
  ['topologyManagerPolicy', 'None', 'single-numa-node'],
  ['topologyManagerScope', 'node', 'pod'],
  ['cpuManagerPolicy', 'Static', 'none'],
  ['memoryManagerPolicy', 'static', 'None'],
  ['hairpinMode', 'hairpin', 'hairpin-veth'],
  ['configMapAndSecretChangeDetectionStrategy', 'watch', 'Cache'],
  ['memoryReservationPolicy', 'Tiered', 'None'],
  ['tlsMinVersion', 'TLS12', 'VersionTLS12'],
  ['imagePullCredentialsVerificationPolicy', 'Always', 'AlwaysVerify'],
];

judged(
  ENUMS.map(([field, refused, accepted]) => ({
    about: `an unknown ${field}`,
    refused: { [field]: refused },
    at: field,
    says: `is "${refused}", which is unknown`,
    accepted: { [field]: accepted },
  })),
);

judged(
  ENUMS.map(([field, refused]) => ({
    about: `an unknown ${field}, which has a default`,
    refused: { [field]: refused },
    at: field,
    says: `is "${refused}", which is unknown`,
    accepted: { [field]: '' },
  })),
);

judged([
  {
    about: 'an unknown mode of authorization',
    refused: { authorization: { mode: 'RBAC' } },
    at: 'authorization.mode',
    says: 'is "RBAC", which is unknown',
    fix: 'write "Webhook" or "AlwaysAllow"',
    accepted: { authorization: { mode: 'AlwaysAllow' } },
  },
  {
    about: 'unlimited swap',
    refused: { memorySwap: { swapBehavior: 'UnlimitedSwap' } },
    at: 'memorySwap.swapBehavior',
    says: 'is "UnlimitedSwap", which is unknown',
    fix: 'write "NoSwap" or "LimitedSwap"',
    accepted: { memorySwap: { swapBehavior: 'LimitedSwap' } },
  },
  {
    about: 'tiered reservation of memory without its gate',
    refused: { memoryReservationPolicy: 'TieredReservation' },
    at: 'memoryReservationPolicy',
    says: 'needs the feature gate MemoryQoS, which is off',
    accepted: { memoryReservationPolicy: 'TieredReservation', featureGates: { MemoryQoS: true } },
  },
  {
    about: 'queries of logs without their handler',
    refused: { enableSystemLogQuery: true, enableSystemLogHandler: false },
    at: 'enableSystemLogQuery',
    says: 'is true, but enableSystemLogHandler is false',
    accepted: { enableSystemLogQuery: true },
  },
  {
    about: 'running once',
    refused: { runOnce: true },
    at: 'runOnce',
    says: 'is true, which kubelets no longer support',
    accepted: { runOnce: false },
  },
  {
    about: 'serving certificates from the cluster without their gate',
    refused: { serverTLSBootstrap: true, featureGates: { RotateKubeletServerCertificate: false } },
    at: 'serverTLSBootstrap',
    says: 'needs the feature gate RotateKubeletServerCertificate, which is off',
    accepted: { serverTLSBootstrap: true },
  },
  {
    about: 'hidden metrics of an older version',
    refused: { showHiddenMetricsForVersion: '1.34' },
    at: 'showHiddenMetricsForVersion',
    says: 'is "1.34"; only the minor version before the kubelet\'s is allowed',
    fix: 'write "1.35"',
    accepted: { showHiddenMetricsForVersion: '1.35' },
  },
]);

const LIST = 'preloadedImagesVerificationAllowlist';
const BY_LIST = { imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages' };

describe('who may use an image that is on the node', () => {
  judged([
    {
      about: 'a list that the policy does not read',
      refused: { [LIST]: ['quay.io/a/b'] },
      at: LIST,
      says: 'needs imagePullCredentialsVerificationPolicy "NeverVerifyAllowlistedImages", not "NeverVerifyPreloadedImages"',
      accepted: { [LIST]: ['quay.io/a/b'], ...BY_LIST },
    },
    {
      about: 'a policy without its gate',
      refused: {
        imagePullCredentialsVerificationPolicy: 'AlwaysVerify',
        featureGates: { KubeletEnsureSecretPulledImages: false },
      },
      at: 'imagePullCredentialsVerificationPolicy',
      says: 'needs the feature gate KubeletEnsureSecretPulledImages, which is off',
      accepted: { featureGates: { KubeletEnsureSecretPulledImages: false } },
    },
    {
      about: 'a list without its gate',
      refused: { [LIST]: ['a'], featureGates: { KubeletEnsureSecretPulledImages: false } },
      at: LIST,
      says: 'needs the feature gate KubeletEnsureSecretPulledImages, which is off',
      accepted: { [LIST]: [], featureGates: { KubeletEnsureSecretPulledImages: false } },
    },
    ...(
      [
        ['an image with a tag', 'quay.io/a/b:1', 'quay.io:5000/a/b'],
        ['an image with a digest', `quay.io/a@sha256:${'a'.repeat(64)}`, 'quay.io/a'],
        ['an image with a long path', 'a'.repeat(256), `quay.io/${'a'.repeat(255)}`],
        ['a star in the middle', 'quay.io/*/b', 'quay.io/a/*'],
        ['a star at the end of a name', 'quay.io/a*', 'quay.io/*'],
        ['every registry', '/*', 'localhost/*'],
        ['a space', 'quay.io/a ', 'quay.io/a'],
      ] as const
    ).map(([about, refused, accepted]) => ({
      about,
      refused: { [LIST]: [refused], ...BY_LIST },
      at: `${LIST}.0`,
      says: `is ${JSON.stringify(refused)}, which is no image without tag and digest, and no pattern`,
      accepted: { [LIST]: [accepted], ...BY_LIST },
    })),
  ]);
});
