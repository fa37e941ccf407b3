/** PoolRollouts at a real API server, with the rights of the cluster worker. */

import { PoolRolloutStore } from '../../../adapters/kube/pool-rollouts';
import { MACHINE_CONFIG_POOLS, POOL_ROLLOUTS } from '../../../adapters/kube/resources';
import { failureName } from '../../../core/errors';
import { FIELD_MANAGER, LABEL } from '../../../core/names';
import type { PoolRolloutStatus } from '../../../core/rollout/pool-rollout';
import { decideOn, old, waits } from '../../unit/core/rollout/rollout-pool';
import { startKubeFixture, type KubeFixture } from './fixture';

jest.setTimeout(120_000);

let kube: KubeFixture;
let store: PoolRolloutStore;
let uid: string;

beforeAll(async () => {
  kube = await startKubeFixture();
  store = new PoolRolloutStore(kube.worker, FIELD_MANAGER.CLUSTER_WORKER);
  const selector = { matchLabels: { [LABEL.WORKER]: '' } };
  const spec = { nodeSelector: selector, machineConfigSelector: selector };
  const pool = await kube.admin.create(MACHINE_CONFIG_POOLS, {
    metadata: { name: 'worker' },
    spec,
  });
  uid = pool.metadata.uid ?? '';
});

afterAll(() => kube.stop());

function statusWith(...nodes: readonly string[]): PoolRolloutStatus {
  const names = nodes.map((name) => old(name));
  return decideOn({ nodes: names, waiting: nodes.map((name) => waits(name)), max: 2000 }).status;
}

async function refusal(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return failureName(error);
  }
}

it('is owned by its pool, and keeps what is decided', async () => {
  expect(await store.read('worker')).toBeUndefined();
  const made = await store.create({ name: 'worker', uid });
  expect(await refusal(store.create({ name: 'worker', uid }))).toBe('Conflict');

  const status = statusWith('a', 'b');
  await store.writeStatus(made, status);

  const read = await store.read('worker');
  expect(read?.status).toEqual(status);
  expect(read?.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfigPool',
      name: 'worker',
      uid,
    },
  ]);
});

it('is written by whoever read it last', async () => {
  const seen = await store.read('worker');
  if (seen === undefined) throw new Error('there is no PoolRollout');
  await store.writeStatus(seen, statusWith('a'));

  expect(await refusal(store.writeStatus(seen, statusWith('b')))).toBe('Conflict');
  expect(await refusal(store.delete(seen))).toBe('Conflict');
  expect((await store.read('worker'))?.status?.grants.map(({ node }) => node)).toEqual(['a']);
});

it('bears a thousand grants in less than 256 KiB', async () => {
  const seen = await store.read('worker');
  if (seen === undefined) throw new Error('there is no PoolRollout');
  const names = Array.from({ length: 1100 }, (_, i) => `worker-${1000 + i}.example.com`);
  const { grants, ...status } = statusWith(...names);
  const [uuid, time] = ['019353c2-6a1f-7f6b-9a52-0d5c3fb2c111', '2029-06-01T00:00:01.123Z'];
  const config = 'rendered-worker-0123456789abcdef0123456789abcdef';
  const real = grants.map((grant) => ({ ...grant, uid: uuid, run: uuid, startedAt: time, config }));
  const written = await store.writeStatus(seen, { ...status, grants: real });

  expect(written.status?.counts.mayBeOut).toBe(1000);
  expect(written.status?.grants).toHaveLength(1000);
  expect(JSON.stringify(written).length).toBeLessThan(256 * 1024);
});

it('is gone for a write when somebody has deleted it', async () => {
  const seen = await store.read('worker');
  if (seen === undefined) throw new Error('there is no PoolRollout');
  await store.delete(seen);
  expect(await kube.admin.list(POOL_ROLLOUTS)).toMatchObject({ items: [] });

  expect(await refusal(store.writeStatus(seen, statusWith('a')))).toBe('ObjectNotFound');
});
