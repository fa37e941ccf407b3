/** Metrics of the cluster worker. Labels are few and bounded: never a node. */

import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ClusterCaches } from '../adapters/kube/cluster-caches';

export interface WorkerMetrics {
  readonly registry: Registry;
  /** The same activities, with their durations recorded. */
  timed<T extends object>(activities: T): T;
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
    help: 'Objects in the picture of the cluster',
    labelNames: ['resource'],
    registers,
    collect: () => {
      for (const [resource, cache] of Object.entries(caches)) {
        objects.set({ resource }, (cache as { readonly size: number }).size);
      }
    },
  });
  const timed = (activity: string, run: Activity): Activity => {
    underWay.set({ activity }, 0);
    return async (...args) => {
      const stop = durations.startTimer({ activity });
      underWay.inc({ activity });
      let outcome = 'failed';
      try {
        const result = await run(...args);
        outcome = 'completed';
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
  };
}
