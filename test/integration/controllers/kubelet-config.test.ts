import { WatchCache } from '../../../adapters/kube/cache';
import {
  FEATURE_GATES,
  KUBELET_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  type KubeObject,
} from '../../../adapters/kube/resources';
import type { Origin } from '../../../core/generated-configs';
import { QUIET } from '../crds/api-server';
import { denyConfigs } from './denied-configs';
import { aConfig, aFile, aPool, textOfFile, useControllers } from './fixture';
import { withOwnRights } from './rights';

jest.setTimeout(60_000);

const BASE = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS: [10.96.0.10]
maxPods: 110
staticPodPath: /etc/kubernetes/manifests
`;
const POOL = 'worker';
const NAME = `99-${POOL}-generated-kubelet`;
const LABELS = { [`pools.operator.machineconfiguration.openshift.io/${POOL}`]: '' };

const fixture = useControllers(withOwnRights);
let kubeletConfigs: WatchCache<Origin>;
const ended = new AbortController();

beforeAll(async () => {
  const { client } = fixture.api;
  kubeletConfigs = new WatchCache({ resource: KUBELET_CONFIGS, log: QUIET });
  void kubeletConfigs.run(client, ended.signal);
  await kubeletConfigs.synced;
  const base = aConfig(`01-${POOL}-kubelet`, POOL, [aFile('/etc/kubernetes/kubelet.conf', BASE)]);
  await client.create(MACHINE_CONFIGS, base);
  const pool = aPool(POOL);
  await client.create(MACHINE_CONFIG_POOLS, {
    ...pool,
    metadata: { ...pool.metadata, labels: LABELS },
  });
  await fixture.observer.pool(POOL, ({ spec }) => spec.configuration?.name !== undefined);
});

afterAll(() => ended.abort());

const object = (name: string, kubeletConfig: object): Origin => ({
  metadata: { name },
  spec: { machineConfigPoolSelector: { matchLabels: LABELS }, kubeletConfig } as Origin['spec'] &
    object,
});

const generated = (name: string): string =>
  textOfFile(fixture.observer.configs.get(name), '/etc/kubernetes/kubelet.conf');

async function untilFile(name: string, holds: (text: string) => boolean): Promise<void> {
  const { observer } = fixture;
  await observer.until(
    observer.configs,
    () => holds(generated(name)),
    () => `${name}: ${generated(name)}`,
  );
}

async function untilSaid(name: string, holds: (message: string) => boolean): Promise<string> {
  const last = (): string => {
    const { metadata, status } = kubeletConfigs.get(name) ?? {};
    if (status?.observedGeneration !== metadata?.generation) return '';
    return status?.conditions?.at(-1)?.message ?? '';
  };
  await fixture.observer.until(kubeletConfigs, () => holds(last()), last);
  return last();
}

async function setKubelet(name: string, kubeletConfig: object): Promise<void> {
  await fixture.api.client.patch(
    KUBELET_CONFIGS,
    { name },
    [{ op: 'replace', path: '/spec/kubeletConfig', value: kubeletConfig }],
    { fieldManager: 'test', kind: 'json' },
  );
}

it('merges into the file of the machines, names its MachineConfig, and says so', async () => {
  await fixture.api.client.create(KUBELET_CONFIGS, object('a', { maxPods: 37 }));

  await untilFile(NAME, (text) => text.includes('maxPods: 37'));
  expect(generated(NAME)).toContain('- 10.96.0.10');
  await untilSaid('a', (message) => message === 'Success');
  expect(kubeletConfigs.get('a')?.metadata).toMatchObject({
    finalizers: [NAME],
    annotations: { 'machineconfiguration.openshift.io/mc-name-suffix': '' },
  });
  await fixture.observer.pool(
    POOL,
    ({ spec }) => spec.configuration?.source?.some(({ name }) => name === NAME) ?? false,
  );
});

it('refuses a value that the kubelet would refuse, at its place, and keeps the MachineConfig', async () => {
  const before = generated(NAME);
  await setKubelet('a', { maxPods: 38, evictionHard: { 'memory.available': '110%' } });

  const message = await untilSaid('a', (said) => said.startsWith('Error:'));

  expect(message).toContain('spec.kubeletConfig.evictionHard');
  expect(generated(NAME)).toBe(before);
});

it('takes the corrected object over', async () => {
  await setKubelet('a', { maxPods: 39 });
  await untilFile(NAME, (text) => text.includes('maxPods: 39'));
  await untilSaid('a', (message) => message === 'Success');
});

it('puts an edited MachineConfig right, and takes one away that nobody claims', async () => {
  const { client } = fixture.api;
  const { observer } = fixture;
  await client.create(MACHINE_CONFIGS, aConfig(`${NAME}-7`, POOL));
  await observer.until(observer.configs, () => observer.configs.get(`${NAME}-7`) === undefined);
  await client.patch(
    MACHINE_CONFIGS,
    { name: NAME },
    [{ op: 'replace', path: '/spec', value: { config: { ignition: { version: '3.5.0' } } } }],
    { fieldManager: 'test', kind: 'json' },
  );
  await untilFile(NAME, (text) => text === '');
  await untilFile(NAME, (text) => text.includes('maxPods: 39'));
});

it('a change for all kubelets costs the pool one render, however many MachineConfigs it changes', async () => {
  const { api, observer } = fixture;
  await api.client.create(KUBELET_CONFIGS, object('b', { podsPerCore: 5 }));
  await untilFile(`${NAME}-1`, (text) => text.includes('podsPerCore: 5'));
  await observer.pool(
    POOL,
    ({ spec }) => spec.configuration?.source?.some(({ name }) => name === `${NAME}-1`) ?? false,
  );
  const before = await observer.countRenders(POOL);

  const gates = { featureSet: 'CustomNoUpgrade', customNoUpgrade: { enabled: ['NodeSwap'] } };
  await api.client.create(FEATURE_GATES, {
    metadata: { name: 'cluster' },
    spec: gates,
  } as KubeObject);

  const changed = [NAME, `${NAME}-1`, `98-${POOL}-generated-kubelet`];
  for (const name of changed) await untilFile(name, (text) => text.includes('NodeSwap: true'));
  await observer.pool(
    POOL,
    ({ spec }) =>
      spec.configuration?.source?.some(({ name }) => name === `98-${POOL}-generated-kubelet`) ??
      false,
  );
  expect(await observer.countRenders(POOL)).toBe(before + 1);
});

it('says on the object that the API server refuses its MachineConfig, until it does not', async () => {
  const { client } = fixture.api;
  const allow = await denyConfigs(client, `${NAME}-2`, 'not on Fridays');
  await client.create(KUBELET_CONFIGS, object('c', { maxPods: 41 }));

  const message = await untilSaid('c', (said) => said.startsWith('Error:'));

  expect(message).toMatch(
    /^Error: create MachineConfig 99-worker-generated-kubelet-2: .*not on Fridays/,
  );
  expect(kubeletConfigs.get('c')?.status?.conditions?.[0]).toMatchObject({
    type: 'Accepted',
    status: 'False',
  });
  await allow();
  await untilFile(`${NAME}-2`, (text) => text.includes('maxPods: 41'));
  await untilSaid('c', (said) => said === 'Success');
  expect(kubeletConfigs.get('c')?.status?.conditions).toHaveLength(3);
});

it('an object that is deleted takes its MachineConfig with it', async () => {
  const { api, observer } = fixture;
  for (const name of ['a', 'b', 'c']) await api.client.delete(KUBELET_CONFIGS, { name });
  await observer.until(kubeletConfigs, () => kubeletConfigs.list().length === 0);
  await observer.until(observer.configs, () =>
    observer.configs.list().every(({ metadata }) => !metadata.name.startsWith(NAME)),
  );
});
