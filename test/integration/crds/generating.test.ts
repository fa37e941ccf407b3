/** What the API server refuses of the objects that MachineConfigs are generated from. */

import {
  API_SERVERS,
  CLUSTER_IMAGE_POLICIES,
  CONFIG_NODES,
  CONTAINER_RUNTIME_CONFIGS,
  FEATURE_GATES,
  IMAGE_CONFIGS,
  IMAGE_DIGEST_MIRROR_SETS,
  KUBELET_CONFIGS,
  type KubeObject,
  type Resource,
} from '../../../adapters/kube/resources';
import { takeApiServer, type TestApiServer } from './api-server';

let api: TestApiServer;

beforeAll(async () => {
  api = await takeApiServer();
}, 300_000);

afterAll(() => api.stop(), 60_000);

async function refusalOf(resource: Resource, name: string, spec: object): Promise<string> {
  try {
    await api.client.create(resource, { metadata: { name }, spec } as KubeObject);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

const kubelet = (kubeletConfig: object) => ({ kubeletConfig });
const runtime = (containerRuntimeConfig: object) => ({ containerRuntimeConfig });
const sources = (registrySources: object) => ({ registrySources });
const trust = (rootOfTrust: object) => ({ scopes: ['quay.io'], policy: { rootOfTrust } });

const REFUSED: readonly (readonly [Resource, string, object, string])[] = [
  [KUBELET_CONFIGS, 'k', kubelet({ cgroupDriver: 'systemd' }), 'remove it'],
  [KUBELET_CONFIGS, 'k', kubelet({ clusterDNS: ['10.0.0.1'] }), 'remove it'],
  [KUBELET_CONFIGS, 'k', kubelet({ clusterDomain: 'x' }), 'remove it'],
  [KUBELET_CONFIGS, 'k', kubelet({ featureGates: { NodeSwap: true } }), 'FeatureGate cluster'],
  [KUBELET_CONFIGS, 'k', kubelet({ failSwapOn: true }), 'remove it'],
  [KUBELET_CONFIGS, 'k', kubelet({ memorySwap: { swapBehavior: 'NoSwap' } }), 'remove it'],
  [KUBELET_CONFIGS, 'k', { logLevel: 11 }, 'spec.logLevel'],
  [
    KUBELET_CONFIGS,
    'k',
    { autoSizingReserved: true, ...kubelet({ systemReserved: { pid: '5' } }) },
    'remove one of them',
  ],
  [KUBELET_CONFIGS, 'k', { tlsSecurityProfile: { type: 'Custom' } }, 'add custom:'],
  [KUBELET_CONFIGS, 'k', { tlsSecurityProfile: { type: 'Best' } }, 'Unsupported value: "Best"'],
  [CONTAINER_RUNTIME_CONFIGS, 'c', runtime({ pidsLimit: 10 }), 'at least 20'],
  [
    CONTAINER_RUNTIME_CONFIGS,
    'c',
    runtime({ logLevel: 'loud' }),
    'spec.containerRuntimeConfig.logLevel',
  ],
  [CONTAINER_RUNTIME_CONFIGS, 'c', runtime({ defaultRuntime: 'kata' }), 'defaultRuntime'],
  [
    CONTAINER_RUNTIME_CONFIGS,
    'c',
    runtime({ additionalImageStores: [{ path: 'var/lib' }] }),
    'path must be absolute',
  ],
  [
    CONTAINER_RUNTIME_CONFIGS,
    'c',
    runtime({ additionalImageStores: [{ path: '/a' }, { path: '/a' }] }),
    'each path may be there once',
  ],
  [IMAGE_CONFIGS, 'other', {}, 'its name must be cluster'],
  [IMAGE_CONFIGS, 'cluster', sources({ insecureRegistries: ['https://x'] }), 'without a scheme'],
  [IMAGE_DIGEST_MIRROR_SETS, 'm', { imageDigestMirrors: [{ mirrors: ['x'] }] }, 'source'],
  [
    IMAGE_DIGEST_MIRROR_SETS,
    'm',
    { imageDigestMirrors: [{ source: 'x', mirrorSourcePolicy: 'Never' }] },
    'mirrorSourcePolicy',
  ],
  [CLUSTER_IMAGE_POLICIES, 'p', trust({ policyType: 'PublicKey' }), 'publicKey belongs'],
  [CLUSTER_IMAGE_POLICIES, 'p', { ...trust({ policyType: 'PKI' }), scopes: [] }, 'spec.scopes'],
  [FEATURE_GATES, 'other', {}, 'its name must be cluster'],
  [CONFIG_NODES, 'cluster', { cgroupMode: 'v1' }, 'spec.cgroupMode'],
  [CONFIG_NODES, 'cluster', { workerLatencyProfile: 'Slow' }, 'spec.workerLatencyProfile'],
  [API_SERVERS, 'cluster', { tlsSecurityProfile: { type: 'Custom' } }, 'add custom:'],
];

it.each(
  REFUSED.map(([resource, name, spec, says]) => ({
    kind: resource.kind,
    resource,
    name,
    spec,
    says,
  })),
)('$kind with $spec: $says', async ({ resource, name, spec, says }) => {
  expect(await refusalOf(resource, name, spec)).toContain(says);
});

it.each([
  [
    KUBELET_CONFIGS,
    kubelet({ maxPods: 5, noSuchField: { a: 1 }, failSwapOn: false, clusterDomain: '' }),
  ],
  [CONTAINER_RUNTIME_CONFIGS, runtime({ pidsLimit: 0, logSizeMax: -1, overlaySize: '8G' })],
  [IMAGE_DIGEST_MIRROR_SETS, { imageDigestMirrors: [{ source: '*.example.com', mirrors: ['a'] }] }],
] as const)('what people have is accepted: %#', async (resource, spec) => {
  expect(await refusalOf(resource, 'people', spec)).toBe('accepted');
});
