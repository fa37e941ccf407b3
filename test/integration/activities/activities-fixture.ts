/** The cluster activities on a real cluster; the test plays the attempt. */

import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import type { ActivityRun, ClusterPorts } from '../../../activities/cluster/ports';
import { NodePods } from '../../../adapters/kube/node-pods';
import { PoolRolloutStore } from '../../../adapters/kube/pool-rollouts';
import { MACHINE_CONFIGS } from '../../../adapters/kube/resources';
import { EventQueue, EventWriter } from '../../../adapters/kube/events';
import { MachineConfigNodeWriter, NodeWriter, PoolWriter } from '../../../adapters/kube/writers';
import { FIELD_MANAGER } from '../../../core/names';
import type { DrainProgress } from '../../../core/drain';
import type { NodeStep, TakeOutInput } from '../../../workflows/contracts/cluster';
import type { SeenVersions } from '../../../workflows/contracts/rollout';
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
    attempt: 1,
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

/** That a rollout is to look again, and what it has to see. */
export interface Wake {
  readonly pool: string;
  readonly seen: SeenVersions;
}

/** @param wakes - receives each */
export function portsFor(
  fixture: KubeFixture,
  caches: ClusterCaches,
  run: () => ActivityRun,
  wakes: Wake[] = [],
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
    poolRollouts: new PoolRolloutStore(worker, manager),
    // As Temporal without any workflow.
    nodeUpdates: {
      listOpen: () => Promise.resolve([]),
      isClosed: () => Promise.resolve(true),
      start: () => Promise.resolve(''),
      cancel: () => Promise.resolve(),
    },
    rollouts: { wake: (pool, seen) => wakes.push({ pool, seen }) },
    events: new EventQueue(new EventWriter(worker, manager), log),
    run,
    now: Date.now,
  };
}

export function activitiesFor(fixture: KubeFixture, caches: ClusterCaches, run = playedRun()) {
  return createClusterActivities(portsFor(fixture, caches, () => run));
}

const NO_COUNTS = {
  ...{ machines: 0, updated: 0, outOfService: 0, mayBeOut: 0 },
  ...{ waiting: 0, failed: 0, held: 0, blocked: 0 },
};

/** These updates have the grants of their pool, in this order, as a step of its rollout writes it. */
export async function giveGrants(
  { worker }: Pick<KubeFixture, 'worker'>,
  caches: ClusterCaches,
  ...steps: readonly [NodeStep, ...NodeStep[]]
): Promise<void> {
  const [{ pool }] = steps;
  const store = new PoolRolloutStore(worker, FIELD_MANAGER.CLUSTER_WORKER);
  const { uid = '' } = (await inCache(caches.pools, pool, () => true)).metadata;
  const rollout = (await store.read(pool)) ?? (await store.create({ name: pool, uid }));
  const grantedAt = new Date().toISOString();
  const grants = steps.map(({ node, uid: of = '', run, config }) => ({
    ...{ node, uid: of, run: run.id, startedAt: run.startedAt, config, grantedAt },
  }));
  const written = await store.writeStatus(rollout, {
    ...{ state: 'Rolling', done: '0/0', counts: NO_COUNTS },
    ...{ failed: [], held: [], grants },
  });
  const version = written.metadata.resourceVersion;
  await inCache(caches.poolRollouts, pool, (one) => one.metadata.resourceVersion === version);
}

export function takeOutInput(step: NodeStep): TakeOutInput {
  return { ...step, cordon: true, summary: 'reboot: a test' };
}

/** Gives an update its grant, and takes its node out of service. */
export async function takeOut(
  fixture: KubeFixture,
  caches: ClusterCaches,
  step: NodeStep,
): Promise<{ readonly cordoned: boolean }> {
  await giveGrants(fixture, caches, step);
  return activitiesFor(fixture, caches).takeOutOfService(takeOutInput(step));
}

/**
 * A pool of all workers that may all be out of service at once, and one node outside of it, so that no
 * node is the only one.
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
