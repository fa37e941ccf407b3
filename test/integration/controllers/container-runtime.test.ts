import { WatchCache } from '../../../adapters/kube/cache';
import {
  CLUSTER_IMAGE_POLICIES,
  CONTAINER_RUNTIME_CONFIGS,
  IMAGE_CONFIGS,
  IMAGE_DIGEST_MIRROR_SETS,
  IMAGE_POLICIES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  type KubeObject,
} from '../../../adapters/kube/resources';
import type { Origin } from '../../../core/generated-configs';
import type { MachineConfig } from '../../../core/machine-config';
import type { ImagePolicy } from '../../../core/registries';
import { QUIET } from '../crds/api-server';
import { denyConfigs } from './denied-configs';
import { aConfig, aFile, aPool, textOfFile, useControllers } from './fixture';
import { withOwnRights } from './rights';

jest.setTimeout(60_000);

const POOL = 'worker';
const OTHER = 'edge';
const RUNTIME = `99-${POOL}-generated-containerruntime`;
const REGISTRIES = `99-${POOL}-generated-registries`;
const LABELS = { [`pools.operator.machineconfiguration.openshift.io/${POOL}`]: '' };
const PIDS = '/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit';
const CONF = '/etc/containers/registries.conf';

const fixture = useControllers(withOwnRights);
let runtimeConfigs: WatchCache<Origin>;
let imagePolicies: WatchCache<ImagePolicy>;
const ended = new AbortController();

beforeAll(async () => {
  const { client } = fixture.api;
  runtimeConfigs = new WatchCache({ resource: CONTAINER_RUNTIME_CONFIGS, log: QUIET });
  imagePolicies = new WatchCache({ resource: IMAGE_POLICIES, log: QUIET });
  void runtimeConfigs.run(client, ended.signal);
  void imagePolicies.run(client, ended.signal);
  await Promise.all([runtimeConfigs.synced, imagePolicies.synced]);
  await client.create(
    MACHINE_CONFIGS,
    aConfig(`01-${POOL}-container-runtime`, POOL, [
      aFile(CONF, 'unqualified-search-registries = ["registry.example.com"]\n'),
      aFile('/etc/containers/policy.json', '{"default":[{"type":"insecureAcceptAnything"}]}'),
      aFile('/etc/containerd/config.toml', 'version = 3\n'),
    ]),
  );
  const pool = aPool(POOL);
  const labelled = { ...pool, metadata: { ...pool.metadata, labels: LABELS } };
  for (const one of [labelled, aPool(OTHER)]) await client.create(MACHINE_CONFIG_POOLS, one);
});

afterAll(() => ended.abort());

const generated = (name: string): MachineConfig | undefined => fixture.observer.configs.get(name);

async function untilFile(name: string, path: string, holds: (text: string) => boolean) {
  const { observer } = fixture;
  const text = (): string => textOfFile(generated(name), path);
  await observer.until(
    observer.configs,
    () => holds(text()),
    () => `${path} in ${name}: ${text()}`,
  );
}

const create = (
  resource: Parameters<typeof fixture.api.client.create>[0],
  name: string,
  spec: object,
  namespace?: string,
) =>
  fixture.api.client.create(resource, {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  } as KubeObject);

it('makes drop-ins of CRI-O from a ContainerRuntimeConfig, and says so', async () => {
  await create(CONTAINER_RUNTIME_CONFIGS, 'a', {
    machineConfigPoolSelector: { matchLabels: LABELS },
    containerRuntimeConfig: { pidsLimit: 4096 },
  });
  await untilFile(RUNTIME, PIDS, (text) => text.includes('pids_limit = 4096'));
  const said = () => runtimeConfigs.get('a')?.status?.conditions?.at(-1)?.type;
  await fixture.observer.until(runtimeConfigs, () => said() === 'Success');
});

it('makes registries.conf and hosts.toml from mirror sets, and a change costs one render', async () => {
  const { observer } = fixture;
  await observer.pool(
    POOL,
    ({ spec }) => spec.configuration?.source?.some(({ name }) => name === RUNTIME) ?? false,
  );
  const before = await observer.countRenders(POOL);

  await create(IMAGE_DIGEST_MIRROR_SETS, 'mirrors', {
    imageDigestMirrors: [{ source: 'quay.io', mirrors: ['mirror.example.com'] }],
  });

  await untilFile(REGISTRIES, CONF, (text) => text.includes('mirror.example.com'));
  expect(textOfFile(generated(REGISTRIES), CONF)).toContain('registry.example.com');
  const hosts = textOfFile(generated(REGISTRIES), '/etc/containerd/certs.d/quay.io/hosts.toml');
  expect(hosts).toContain('[host."https://mirror.example.com"]');
  await observer.pool(
    POOL,
    ({ spec }) => spec.configuration?.source?.some(({ name }) => name === REGISTRIES) ?? false,
  );
  expect(await observer.countRenders(POOL)).toBe(before + 1);
  // It does not select that one.
  await untilFile(`99-${OTHER}-generated-registries`, CONF, (text) =>
    text.includes('mirror.example.com'),
  );
});

it('blocks what the Image says, and keeps the rest when that is wrong', async () => {
  await create(IMAGE_CONFIGS, 'cluster', {
    registrySources: { blockedRegistries: ['bad.example.com'] },
  });
  await untilFile(REGISTRIES, CONF, (text) => text.includes('bad.example.com'));
  const before = textOfFile(generated(REGISTRIES), CONF);
  await fixture.api.client.patch(
    IMAGE_CONFIGS,
    { name: 'cluster' },
    { spec: { registrySources: { blockedRegistries: ['*bad'] } } },
    { fieldManager: 'test' },
  );
  const { observer } = fixture;
  await observer.until(observer.events, () =>
    observer.events
      .list()
      .some(({ reason, message }) => reason === 'Refused' && message?.includes('*bad') === true),
  );
  expect(textOfFile(generated(REGISTRIES), CONF)).toBe(before);
  await fixture.api.client.delete(IMAGE_CONFIGS, { name: 'cluster' });
  await untilFile(REGISTRIES, CONF, (text) => !text.includes('bad.example.com'));
});

it('says on an ImagePolicy that a ClusterImagePolicy has its scope', async () => {
  const key = Buffer.from('-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n').toString(
    'base64',
  );
  const policy = { rootOfTrust: { policyType: 'PublicKey', publicKey: { keyData: key } } };
  await create(CLUSTER_IMAGE_POLICIES, 'all', { scopes: ['quay.io/team'], policy });
  await create(IMAGE_POLICIES, 'own', { scopes: ['quay.io/team/app'], policy }, 'default');

  await untilFile(REGISTRIES, '/etc/containers/policy.json', (text) =>
    text.includes('quay.io/team'),
  );
  interface Said {
    readonly status?: { readonly conditions?: readonly { readonly reason?: string }[] };
  }
  const reason = () =>
    (imagePolicies.get('own', 'default') as Said | undefined)?.status?.conditions?.[0]?.reason;
  await fixture.observer.until(imagePolicies, () => reason() === 'ConflictScopes');

  await fixture.api.client.delete(CLUSTER_IMAGE_POLICIES, { name: 'all' });
  await fixture.observer.until(imagePolicies, () => reason() === undefined);
});

it('says on the Image that the API server refuses a MachineConfig, and tries on', async () => {
  const { api, observer } = fixture;
  const late = '99-late-generated-registries';
  const allow = await denyConfigs(api.client, late, 'not on Fridays');
  await create(IMAGE_CONFIGS, 'cluster', {});
  await api.client.create(MACHINE_CONFIG_POOLS, aPool('late'));

  const isSaid = ({ reason, message = '' }: { reason?: string; message?: string }): boolean =>
    reason === 'Refused' && message.startsWith(`create MachineConfig ${late}: `);
  await observer.until(observer.events, () => observer.events.list().some(isSaid));
  expect(observer.events.list().find(isSaid)?.message).toContain('not on Fridays');

  await allow();
  await untilFile(late, CONF, (text) => text.includes('registry.example.com'));
  await api.client.delete(IMAGE_CONFIGS, { name: 'cluster' });
});

it('takes its MachineConfigs away when nobody asks for them', async () => {
  const { api, observer } = fixture;
  await api.client.delete(IMAGE_POLICIES, { name: 'own', namespace: 'default' });
  await api.client.delete(IMAGE_DIGEST_MIRROR_SETS, { name: 'mirrors' });
  await api.client.delete(CONTAINER_RUNTIME_CONFIGS, { name: 'a' });
  await observer.until(
    observer.configs,
    () => generated(RUNTIME) === undefined && generated(REGISTRIES) === undefined,
  );
});
