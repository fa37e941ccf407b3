/** What the API server refuses, on the objects that people edit. */

import { refusal } from '../../../adapters/kube/api-errors';
import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { ClusterPicture } from '../../../controllers/cluster-picture';
import type { Writer } from '../../../controllers/fenced-writer';
import { kubeletConfigController } from '../../../controllers/kubelet-config';
import type { Origin } from '../../../core/generated-configs';
import type { MachineConfig } from '../../../core/machine-config';
import { LABEL } from '../../../core/names';
import type { MachineConfigPool } from '../../../core/pool/types';
import { Objects } from './listed-objects';

const NAME = '99-worker-generated-kubelet';
const SILENT = { debug: jest.fn(), info: jest.fn(), warn: jest.fn(), error: jest.fn() };

let leading: AbortController;

beforeEach(() => {
  jest.useFakeTimers();
  leading = new AbortController();
});

afterEach(() => {
  leading.abort();
  jest.useRealTimers();
});

function aCluster() {
  const source = `data:,${encodeURIComponent('kind: KubeletConfiguration\nmaxPods: 110\n')}`;
  const files = [{ path: '/etc/kubernetes/kubelet.conf', contents: { source } }];
  const base: MachineConfig = {
    metadata: { name: '01-worker-kubelet', labels: { [LABEL.ROLE]: 'worker' } },
    spec: { config: { ignition: { version: '3.5.0' }, storage: { files } } },
  };
  const pool: MachineConfigPool = {
    metadata: { name: 'worker', labels: { pool: 'worker' } },
    spec: { machineConfigSelector: { matchLabels: { [LABEL.ROLE]: 'worker' } } },
  };
  const origin = {
    metadata: { name: 'a', uid: 'u', generation: 1 },
    spec: {
      machineConfigPoolSelector: { matchLabels: { pool: 'worker' } },
      kubeletConfig: { maxPods: 37 },
    },
  };
  const gate = {
    metadata: { name: 'cluster', uid: 'g' },
    spec: { customNoUpgrade: { enabled: ['NodeSwap'] } },
  };
  return {
    machineConfigs: new Objects([base]),
    pools: new Objects([pool]),
    kubeletConfigs: new Objects<Origin>([origin]),
    featureGates: new Objects<KubeObject>([gate]),
    configNodes: new Objects<KubeObject>(),
    apiServers: new Objects<KubeObject>(),
    controllerConfigs: new Objects<KubeObject>(),
  };
}

/** Runs the controller on a cluster whose API server refuses to create what `refused` holds. */
function run(refused: Set<string>) {
  const cluster = aCluster();
  const statuses: (readonly (string | undefined)[])[] = [];
  const events: string[] = [];
  const create: Writer['create'] = async <T extends KubeObject>(_: Resource<T>, object: T) => {
    const { name } = object.metadata;
    if (refused.has(name)) {
      const status = { code: 403, message: 'quota exceeded', causes: [] };
      throw refusal(`create MachineConfig ${name}`, status);
    }
    cluster.machineConfigs.put(object as unknown as MachineConfig);
    return Promise.resolve(object);
  };
  const change = (more: object): void => {
    const before = cluster.kubeletConfigs.get('a');
    if (before === undefined) throw new Error('it exists');
    const { metadata = {}, ...rest } = more as { metadata?: object };
    const after = { ...before, ...rest, metadata: { ...before.metadata, ...metadata } };
    cluster.kubeletConfigs.put(after);
  };
  const writer = {
    create,
    patch: (_: unknown, __: unknown, patch: object) => Promise.resolve(change(patch)),
    apply: (_: unknown, { status = {} }: { status?: NonNullable<Origin['status']> }) => {
      statuses.push((status.conditions ?? []).map(({ message }) => message));
      return Promise.resolve(change({ status }));
    },
  };
  kubeletConfigController(
    {
      picture: cluster as unknown as ClusterPicture,
      writer: writer as unknown as Writer,
      events: {
        record: ({ object }, type, reason, message) =>
          void events.push(`${object.metadata.name} ${type} ${reason} ${message}`),
        over: () => undefined,
      },
      log: SILENT,
      ...{ now: () => '2030-01-01T00:00:00Z', version: 'v1' },
    },
    leading.signal,
  );
  return { cluster, statuses, events };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('a refused MachineConfig is said once in the conditions, until it is written', async () => {
  const refused = new Set([NAME]);
  const { cluster, statuses } = run(refused);
  await pass(10_000);

  const says = `Error: create MachineConfig ${NAME}: quota exceeded`;
  expect(statuses).toEqual([[says, says]]);
  // It keeps no other one waiting.
  expect(cluster.machineConfigs.get('98-worker-generated-kubelet')).toBeDefined();

  refused.clear();
  await pass(60_000);

  expect(cluster.machineConfigs.get(NAME)).toBeDefined();
  expect(statuses.slice(1)).toEqual([[says, 'Success', 'Success']]);
});

test('a refused MachineConfig of the cluster is an Event on the object that it is of', async () => {
  const { cluster, events, statuses } = run(new Set(['98-worker-generated-kubelet']));
  await pass(1_000);

  expect(new Set(events)).toEqual(
    new Set([
      'cluster Warning Refused create MachineConfig 98-worker-generated-kubelet: quota exceeded',
    ]),
  );
  expect(cluster.machineConfigs.get(NAME)).toBeDefined();
  expect(statuses).toEqual([['Success', 'Success']]);
});
