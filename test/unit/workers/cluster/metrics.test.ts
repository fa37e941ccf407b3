import type { ActivityRun } from '../../../../activities/cluster/ports';
import type { ClusterCaches } from '../../../../adapters/kube/cluster-caches';
import { createWorkerMetrics } from '../../../../workers/cluster/metrics';

const step = (pool: string) => ({ node: 'n1', pool, config: 'b', workflowId: 'update-node/n1' });

function aRun(heartbeats: unknown[]): ActivityRun {
  return {
    signal: new AbortController().signal,
    attempt: 1,
    lastHeartbeat: undefined,
    scheduledAtMs: 0,
    temporalNow: () => 0,
    isAwaited: () => Promise.resolve(true),
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined },
    heartbeat: (details) => heartbeats.push(details),
  };
}

function metricsOf() {
  const pools = ['worker', 'infra'].map((name) => ({ metadata: { name } }));
  const caches = { pools: { list: () => pools, size: pools.length } };
  const metrics = createWorkerMetrics(caches as unknown as ClusterCaches);
  const shown = async (name: string): Promise<readonly string[]> => {
    const text = await metrics.registry.getSingleMetricAsString(name);
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };
  return { metrics, shown };
}

it('sums the pods that drains wait for, by pool, as long as they run', async () => {
  const { metrics, shown } = metricsOf();
  const heartbeats: unknown[] = [];
  const run = metrics.watched(() => aRun(heartbeats));
  const finish: (() => void)[] = [];
  const { drainNode } = metrics.timed({
    drainNode: async (input: { remaining: number; pool: string }): Promise<string> => {
      await Promise.resolve();
      run().heartbeat({ evicted: 0, remaining: [], remainingCount: input.remaining });
      await new Promise<void>((resolve) => finish.push(resolve));
      return 'drained';
    },
  });

  const drains = [
    drainNode({ pool: 'worker', remaining: 3 }),
    drainNode({ pool: 'worker', remaining: 4 }),
    drainNode({ pool: 'infra', remaining: 1 }),
  ];
  while (finish.length < 3) await new Promise(setImmediate);

  expect(await shown('slipway_drain_waiting_pods')).toEqual([
    'slipway_drain_waiting_pods{pool="worker"} 7',
    'slipway_drain_waiting_pods{pool="infra"} 1',
  ]);
  expect(heartbeats).toHaveLength(3);
  for (const one of finish) one();
  expect(await Promise.all(drains)).toEqual(['drained', 'drained', 'drained']);
  expect(await shown('slipway_drain_waiting_pods')).toEqual([
    'slipway_drain_waiting_pods{pool="worker"} 0',
    'slipway_drain_waiting_pods{pool="infra"} 0',
  ]);
});

it('leaves the heartbeats of other activities alone', () => {
  const { metrics } = metricsOf();
  const heartbeats: unknown[] = [];

  metrics
    .watched(() => aRun(heartbeats))()
    .heartbeat({ waitingFor: 'Ready' });

  expect(heartbeats).toEqual([{ waitingFor: 'Ready' }]);
});

it('begins to count at 0, so that the first one is an increase', async () => {
  const { shown } = metricsOf();

  expect(await shown('slipway_node_updates_total')).toHaveLength(2 * 4);
  expect(await shown('slipway_node_rollbacks_total')).toEqual([
    'slipway_node_rollbacks_total{pool="worker",outcome="failed"} 0',
    'slipway_node_rollbacks_total{pool="worker",outcome="cancelled"} 0',
    'slipway_node_rollbacks_total{pool="infra",outcome="failed"} 0',
    'slipway_node_rollbacks_total{pool="infra",outcome="cancelled"} 0',
  ]);
});

it('counts how updates end and how often a host is rolled back, once each', async () => {
  const { metrics, shown } = metricsOf();
  let fails = true;
  const done = async (_input: object): Promise<void> => undefined;
  const activities = metrics.timed({
    completeNode: async (_input: object): Promise<void> => {
      if (fails) throw new Error('away');
    },
    releaseNode: done,
    showGoingBack: done,
  });

  await expect(activities.completeNode(step('worker'))).rejects.toThrow('away');
  fails = false;
  await activities.completeNode(step('worker'));
  const release = { ...step('worker'), unreconcilable: false, reason: '' };
  await activities.releaseNode({ ...release, outcome: 'failed', hostIsBack: true });
  await activities.releaseNode({ ...release, outcome: 'failed', hostIsBack: false });
  await activities.releaseNode({ ...release, outcome: 'cancelled', hostIsBack: true });
  await activities.showGoingBack({ ...step('worker'), outcome: 'cancelled' });
  await activities.showGoingBack({ ...step('worker'), outcome: 'failed' });
  // Of a run that began with an earlier version.
  await activities.showGoingBack(step('worker'));

  const ofWorker = (await shown('slipway_node_updates_total')).filter((line) =>
    line.includes('"worker"'),
  );
  expect(ofWorker).toEqual([
    'slipway_node_updates_total{pool="worker",outcome="updated"} 1',
    'slipway_node_updates_total{pool="worker",outcome="failed"} 1',
    'slipway_node_updates_total{pool="worker",outcome="stuck"} 1',
    'slipway_node_updates_total{pool="worker",outcome="cancelled"} 1',
  ]);
  const rollbacks = await shown('slipway_node_rollbacks_total');
  expect(rollbacks).toContain('slipway_node_rollbacks_total{pool="worker",outcome="failed"} 2');
  expect(rollbacks).toContain('slipway_node_rollbacks_total{pool="worker",outcome="cancelled"} 1');
});
