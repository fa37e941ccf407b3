/** Labels are few and bounded: never a node. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ActivityRun } from '../../activities/cluster/ports';
import type { ClusterCaches } from '../../adapters/kube/cluster-caches';
import type { DrainProgress } from '../../core/drain';
import type {
  NodeStep,
  ReleaseNodeInput,
  ShowGoingBackInput,
} from '../../workflows/contracts/cluster';

export interface WorkerMetrics {
  readonly registry: Registry;
  timed<T extends object>(activities: T): T;
  watched(run: () => ActivityRun): () => ActivityRun;
}

type Activity = (...args: unknown[]) => Promise<unknown>;

export function createWorkerMetrics(caches: ClusterCaches): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'slipway_cluster_activity_duration_seconds',
    help: 'Attempts of cluster activities, by activity and outcome',
    labelNames: ['activity', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 3600],
    registers,
  });
  const underWay = new Gauge({
    name: 'slipway_cluster_activities_under_way',
    help: 'Attempts of cluster activities that run now',
    labelNames: ['activity'],
    registers,
  });
  const objects = new Gauge({
    name: 'slipway_cluster_cached_objects',
    help: 'Objects in the cache of the cluster',
    labelNames: ['resource'],
    registers,
    collect: () => {
      for (const [resource, cache] of Object.entries(caches)) {
        objects.set({ resource }, (cache as { readonly size: number }).size);
      }
    },
  });
  const pools = (): readonly string[] => caches.pools.list().map(({ metadata }) => metadata.name);
  const drains = countDrains(registry, pools);
  const ended = countEnds(registry, pools);
  const timed = (activity: string, run: Activity): Activity => {
    underWay.set({ activity }, 0);
    for (const outcome of ['completed', 'failed']) durations.zero({ activity, outcome });
    if (activity === 'drainNode') run = drains.counted(run);
    return async (...args) => {
      const stop = durations.startTimer({ activity });
      underWay.inc({ activity });
      let outcome = 'failed';
      try {
        const result = await run(...args);
        outcome = 'completed';
        ended(activity, args[0]);
        return result;
      } finally {
        underWay.dec({ activity });
        stop({ outcome });
      }
    };
  };
  return {
    registry,
    timed: (activities) =>
      Object.fromEntries(
        Object.entries(activities).map(([name, run]) => [name, timed(name, run as Activity)]),
      ) as typeof activities,
    watched: drains.watched,
  };
}

interface OpenDrain {
  readonly pool: string;
  waiting: number;
}

function countDrains(
  registry: Registry,
  pools: () => readonly string[],
): {
  readonly counted: (run: Activity) => Activity;
  readonly watched: WorkerMetrics['watched'];
} {
  const open = new Set<OpenDrain>();
  const mine = new AsyncLocalStorage<OpenDrain>();
  new Gauge({
    name: 'slipway_drain_waiting_pods',
    help: 'Pods that have to leave and have not yet, on the nodes that are being drained',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      this.reset();
      for (const pool of pools()) this.set({ pool }, 0);
      for (const { pool, waiting } of open) this.inc({ pool }, waiting);
    },
  });
  return {
    counted: (run) => async (input, more) => {
      const { pool } = input as NodeStep;
      const drain: OpenDrain = { pool, waiting: 0 };
      open.add(drain);
      try {
        return await mine.run(drain, () => run(input, more));
      } finally {
        open.delete(drain);
      }
    },
    watched: (run) => () => {
      const current = run();
      const drain = mine.getStore();
      if (drain === undefined) return current;
      return {
        ...current,
        heartbeat: (details) => {
          drain.waiting = (details as DrainProgress).remainingCount;
          current.heartbeat(details);
        },
      };
    },
  };
}

const OUTCOMES = ['updated', 'failed', 'cancelled', 'stuck'] as const;
const WAYS_BACK = ['failed', 'cancelled'] as const;

/** Both begin at 0 for every pool: the first one would be no increase otherwise. */
function countEnds(
  registry: Registry,
  pools: () => readonly string[],
): (activity: string, input: unknown) => void {
  const registers = [registry];
  const updates = new Counter({
    name: 'slipway_node_updates_total',
    help: 'Updates of nodes that disturbed them, by how they ended',
    labelNames: ['pool', 'outcome'],
    registers,
    collect() {
      for (const pool of pools()) {
        for (const outcome of OUTCOMES) this.inc({ pool, outcome }, 0);
      }
    },
  });
  const rollbacks = new Counter({
    name: 'slipway_node_rollbacks_total',
    help: 'How often a host began to roll back to its previous config, by what happened to its update',
    labelNames: ['pool', 'outcome'],
    registers,
    collect() {
      for (const pool of pools()) {
        for (const outcome of WAYS_BACK) this.inc({ pool, outcome }, 0);
      }
    },
  });
  return (activity, input) => {
    if (activity === 'completeNode') {
      updates.inc({ pool: (input as NodeStep).pool, outcome: 'updated' });
    } else if (activity === 'releaseNode') {
      const { pool, outcome, hostIsBack } = input as ReleaseNodeInput;
      updates.inc({ pool, outcome: hostIsBack ? outcome : 'stuck' });
    } else if (activity === 'showGoingBack') {
      const { pool, outcome = 'failed' } = input as ShowGoingBackInput;
      rollbacks.inc({ pool, outcome });
    }
  };
}
