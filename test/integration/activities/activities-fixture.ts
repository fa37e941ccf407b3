/** The cluster activities on a real cluster; the test plays the attempt. */

import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import type { ActivityRun, ClusterPorts } from '../../../activities/cluster/ports';
import { NodePods } from '../../../adapters/kube/node-pods';
import { MACHINE_CONFIGS } from '../../../adapters/kube/resources';
import {
  EventWriter,
  MachineConfigNodeWriter,
  NodeWriter,
  PoolWriter,
} from '../../../adapters/kube/writers';
import { FIELD_MANAGER } from '../../../core/names';
import type { DrainProgress, NodeStep } from '../../../workflows/contracts/cluster';
import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import { createNodes } from '../../../tools/cluster';
import { applyManifest, inCache, type KubeFixture } from '../kube/fixture';

export interface PlayedRun extends ActivityRun {
  readonly heartbeats: unknown[];
  cancel(): void;
  /** The next heartbeat for which the condition holds. */
  heartbeatWith(condition: (progress: DrainProgress) => boolean): Promise<DrainProgress>;
}

export function playedRun(): PlayedRun {
  const controller = new AbortController();
  const heartbeats: unknown[] = [];
  const waiting = new Set<() => void>();
  const nothing = (): void => undefined;
  return {
    heartbeats,
    signal: controller.signal,
    lastHeartbeat: undefined,
    scheduledAtMs: Date.now(),
    temporalNow: Date.now,
    isAwaited: () => Promise.resolve(true),
    log: { debug: nothing, info: nothing, warn: nothing },
    heartbeat: (details) => {
      heartbeats.push(details);
      for (const look of waiting) look();
    },
    cancel: () => {
      controller.abort(Object.assign(new Error('cancelled'), { name: 'CancelledFailure' }));
    },
    heartbeatWith: (condition) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = (heartbeats as DrainProgress[]).find(condition);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

export function portsFor(
  fixture: KubeFixture,
  caches: ClusterCaches,
  run: () => ActivityRun,
): ClusterPorts {
  const { worker, log } = fixture;
  const manager = FIELD_MANAGER.CLUSTER_WORKER;
  return {
    view: caches,
    nodes: new NodeWriter(worker, caches.nodes, manager),
    machineConfigNodes: new MachineConfigNodeWriter(worker, caches.machineConfigNodes, manager),
    pools: new PoolWriter(worker, caches.pools, manager),
    pods: new NodePods(worker, log),
    configs: { read: (name) => worker.get(MACHINE_CONFIGS, { name }) },
    updates: {
      isRunning: () => Promise.resolve(false),
      isOpen: () => Promise.resolve(false),
      ofPool: () => Promise.resolve([]),
    },
    events: new EventWriter(worker, manager),
    run,
    now: Date.now,
  };
}

export function activitiesFor(fixture: KubeFixture, caches: ClusterCaches, run = playedRun()) {
  return createClusterActivities(portsFor(fixture, caches, () => run));
}

/**
 * A pool of all workers with a slot for each of them, and one node outside of it, so that no node is the only one.
 */
export async function theWorkerPool(fixture: KubeFixture, caches: ClusterCaches): Promise<void> {
  const role = 'worker';
  await applyManifest(fixture.admin, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name: role },
    spec: {
      maxUnavailable: '100%',
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${role}`]: '' } },
      machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': role } },
    },
  });
  await inCache(caches.pools, role, () => true);
  const taints = [{ key: 'test.example.com/nothing-runs-here', effect: 'NoSchedule' as const }];
  await createNodes(fixture.cluster, [{ name: 'one-more', taints }]);
  await inCache(caches.nodes, 'one-more', () => true);
}

export async function aWorker(
  fixture: KubeFixture,
  name: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<void> {
  await createNodes(fixture.cluster, [
    { name, labels: { 'node-role.kubernetes.io/worker': '', pool: name }, annotations },
  ]);
}

/** A Deployment whose pods run on one node only, with a budget if `minAvailable` is given. */
export async function aWorkload(
  fixture: KubeFixture,
  options: {
    readonly name: string;
    readonly node: string;
    readonly replicas: number;
    readonly minAvailable?: number;
  },
): Promise<void> {
  const { name, node, replicas, minAvailable } = options;
  const labels = { app: name };
  await applyManifest(fixture.admin, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { pool: node },
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'c', image: 'none' }],
        },
      },
    },
  });
  if (minAvailable === undefined) return;
  await applyManifest(fixture.admin, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { minAvailable, selector: { matchLabels: labels } },
  });
}

export function stepFor(node: string, config: string): NodeStep {
  const run = { id: 'run-1', startedAt: '2026-01-01T00:00:00.000Z' };
  return { node, pool: 'worker', config, workflowId: `update-node/${node}`, run };
}

export const DRAIN = { timeoutSeconds: 120, onTimeout: 'RetryLater' } as const;
