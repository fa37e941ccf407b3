/**
 * A pod that the scheduler assigned before the cordon is bound to the node after the drain. The
 * pod's budget allows no eviction.
 */

import { machineConfig } from '../e2e/support/configs';
import { markOf, rebootsOf } from '../e2e/support/judgements';
import { START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import { BoundaryWatch } from './support/boundaries';
import { expectRest } from './support/rest';
import { PATIENCE_MS } from './support/strike';

const STORY_MS = 240_000;
const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 1, worker: 1 },
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    policy: { verify: { readySeconds: 1 } },
    // The pod comes while the host writes.
    simulation: { stageSeconds: 0, applySeconds: 4, rebootSeconds: 0.7, jitter: 0, failures: [] },
    workloads: [],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

/** Pending until the test binds it: its scheduler does not exist. */
async function aGuardedPod(): Promise<void> {
  await world.api.call('POST', BUDGETS, {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'late' } },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'late' } } },
  });
  await world.api.call('POST', PODS, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'late', labels: { app: 'late' } } },
    spec: {
      schedulerName: 'late',
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'c', image: 'none' }],
    },
  });
}

async function bindTo(name: string): Promise<void> {
  await world.api.call('POST', `${PODS}/late/binding`, {
    ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: 'late' } },
    target: { apiVersion: 'v1', kind: 'Node', name },
  });
}

const blockerOf = (node: string) =>
  world.record.machineConfigNode(node)?.conditions['Drained']?.message ?? '';

test(
  'a machine reboots only when the pod was let go that was bound to it after its drain',
  async () => {
    const mark = markOf(world.record);
    await aGuardedPod();
    const config = await world.roll(machineConfig('50-late', { kernelArguments: ['late=1'] }));
    const node = await new BoundaryWatch(world, config).reach('Applying');
    await bindTo(node);

    await world.until('the pod is waited for', () => blockerOf(node).includes('default/late'));
    expect(blockerOf(node)).toContain('budget default/late allows 0 disruptions');
    expect(rebootsOf(world.record, node, mark)).toEqual([]);
    const { metadata } = await world.api.call<{ metadata: object }>('GET', `${PODS}/late`);
    expect(metadata).not.toHaveProperty('deletionTimestamp');

    await world.api.call('DELETE', `${BUDGETS}/late`);
    await expectRest(world, config, mark);
  },
  STORY_MS,
);
