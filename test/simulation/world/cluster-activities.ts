/**
 * The cluster activities on a simulated cluster: the product's own, except the two that wait with
 * real timers (the drain and the wait for Ready), which are modelled here.
 */

import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import { refuseToDrain } from '../../../activities/cluster/check-cordon';
import type {
  ActivityRun,
  ClusterPorts,
  DatedLookup,
  Lookup,
  NodeChange,
  PoolChange,
} from '../../../activities/cluster/ports';
import { fail } from '../../../core/errors';
import type { Pod } from '../../../core/drain';
import type { MachineConfig } from '../../../core/machine-config/types';
import { ANNOTATION, updateNodeId } from '../../../core/names';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type {
  AwaitReadyInput,
  ClusterActivities,
  CordonNodeInput,
  DrainNodeInput,
  SelectNodesResult,
} from '../../../workflows/contracts/cluster';
import type { Chance, VirtualClock } from '../clock';
import { isInService, isWorking } from '../outages';
import type { Attempt } from '../temporal/attempt';
import { awaitReady } from './await-ready';
import type { Cluster, Picture } from './cluster';
import type { ActivityPlants } from './plants';
import { labelsFor } from './pools';

/** A workload that a drain must move. */
export interface SimulatedPod {
  readonly name: string;
  /** No budget lets it go. */
  stuck: boolean;
  /** Since when it is on its node. */
  readonly boundAt: number;
}

interface ClusterWorld {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly cluster: Cluster;
  /** What the cluster worker sees that takes up an attempt now. */
  seenBy(): Picture;
  readonly pods: ReadonlyMap<string, SimulatedPod[]>;
  wrotePaused(pool: string, paused: boolean): void;
  isUpdating(workflowId: string): boolean;
  isOpen(workflowId: string, runId: string): boolean;
  configNames(): readonly string[];
  plants(): ActivityPlants;
}

/** A worker looks again this often; so do the real ones. */
const LOOK_MS = 3_000;

export async function performOnCluster(world: ClusterWorld, attempt: Attempt): Promise<unknown> {
  const type = attempt.call.type as keyof ClusterActivities;
  const input = orderIn(world, attempt);
  if (type === 'drainNode') return drain(world, attempt, input as DrainNodeInput);
  if (type === 'awaitNodeReady') return awaitReady(world, attempt, input as AwaitReadyInput);
  const activity = createClusterActivities(portsFor(world, attempt))[type] as (
    input: unknown,
  ) => Promise<unknown>;
  const answer = await activity(input);
  const { takesDownForLeft } = world.plants();
  return takesDownForLeft === true && type === 'selectNodes'
    ? withoutDownOtherwise(answer as SelectNodesResult)
    : answer;
}

function orderIn(world: ClusterWorld, { call: { type, input } }: Attempt): unknown {
  if (world.plants().overlooksNumbers !== true || type !== 'cordonNode') return input;
  return { ...(input as CordonNodeInput), slotNumber: 0, slotsPending: [] };
}

function withoutDownOtherwise(look: SelectNodesResult): SelectNodesResult {
  if (!look.exists) return look;
  return { ...look, downOtherwise: [], countedDown: [], downOtherwiseCount: 0 };
}

async function drain(world: ClusterWorld, attempt: Attempt, input: DrainNodeInput) {
  const { cluster, clock, chance } = world;
  const deadline = Date.parse(input.startedAt) + input.drain.timeoutSeconds * 1000;
  let evicted = 0;
  for (;;) {
    attempt.signal.throwIfAborted();
    refuseToDrain(cluster.node(input.node), input);
    const pods = world.pods.get(input.node) ?? [];
    if (pods.length === 0 && world.plants().drainsOn !== true) return { evicted, left: 1 };
    if (clock.now >= deadline) {
      const names = pods.map(({ name }) => name).join(', ');
      throw fail('DrainTimedOut', `node ${input.node} was not drained in time: ${names}`);
    }
    const willing = pods.findIndex(({ stuck }) => !stuck);
    if (willing >= 0 && !cluster.isAway) {
      pods.splice(willing, 1);
      evicted += 1;
    }
    await attempt.sleep(willing < 0 ? LOOK_MS : chance.between(100, LOOK_MS));
  }
}

function portsFor(world: ClusterWorld, attempt: Attempt): ClusterPorts {
  const { cluster, clock } = world;
  const { countsAllNodes, takesServingForLeft } = world.plants();
  // Whichever worker has the attempt.
  const picture = world.seenBy();
  const seen = takesServingForLeft === true ? cordonedWhereHalfDone(picture.nodes) : picture.nodes;
  const ask = <T>(work: () => T): Promise<T> => {
    const { chance } = world;
    return attempt.request(chance.latency(5, 4_000), chance.latency(5, 4_000), () => {
      if (cluster.isAway) throw fail('ApiUnavailable', 'the API server does not answer');
      return work();
    });
  };
  return {
    view: {
      ...picture,
      nodes: seen,
      pools: countsAllNodes === true ? countedOverAll(picture.pools, cluster.nodes) : picture.pools,
      policies: these<RolloutPolicy>(
        [...cluster.policies].map(([name, spec]) => ({ metadata: { name }, spec })),
      ),
      machineConfigurations: none(),
      budgets: none(),
      daemonSets: none(),
    },
    nodes: {
      change: (name, decide, confirm) =>
        changeNode({ cluster, picture, ask, confirm }, name, planted(world, attempt, decide)),
      read: (name) => ask(() => cluster.node(name)),
      refresh: () => Promise.reject(new Error('no watch is ever silent here')),
    },
    machineConfigNodes: {
      read: (name) => ask(() => cluster.machineConfigNode(name)),
      applySpec: ({ name, uid }, spec, unchangedSince) =>
        ask(() => {
          cluster.node(name);
          const known = cluster.machineConfigNodes.get(name);
          refuseChanged(name, known, unchangedSince);
          return cluster.writeMachineConfigNode({ ...known, metadata: { name, uid }, spec });
        }),
      applyStatus: (name, status, unchangedSince) =>
        ask(() => {
          const known = cluster.machineConfigNode(name);
          refuseChanged(name, known, unchangedSince);
          return cluster.writeMachineConfigNode({ ...known, status });
        }),
    },
    pools: {
      change: async (name, decide) => {
        const known = await ask(() => cluster.pool(name));
        const change = await decide(known);
        if (change === undefined) return known;
        return ask(() => {
          if (cluster.refusesPools) throw fail('ApiRefused', `a policy denies it: pool ${name}`);
          if (cluster.pool(name) !== known) throw fail('Conflict', `pool ${name} has changed`);
          cluster.changePool(name, (pool) => poolWith(pool, change));
          if (change.paused !== undefined) world.wrotePaused(name, change.paused);
          return cluster.pool(name);
        });
      },
    },
    pods: {
      follow: async (node, { listed }) => {
        listed((world.pods.get(node) ?? []).map((pod) => podObject(node, pod)));
        return Promise.resolve();
      },
      evict: () => Promise.reject(new Error('the modelled drain evicts')),
    },
    configs: { read: (name) => Promise.resolve(readConfig(world, name)) },
    updates: {
      isRunning: (node) => ask(() => world.isUpdating(updateNodeId(node))),
      isOpen: (node, runId) => ask(() => world.isOpen(updateNodeId(node), runId)),
      // Visibility is late; whoever relies on it alone is wrong.
      ofPool: () => Promise.resolve([]),
    },
    events: { onNode: () => Promise.resolve() },
    run: () => runOf(attempt, world),
    now: () => clock.now,
  };
}

type Decide = (node: Node) => NodeChange | undefined;

function refuseChanged(
  name: string,
  known: MachineConfigNode | undefined,
  unchangedSince: string | undefined,
): void {
  if (unchangedSince === undefined || known?.metadata.resourceVersion === unchangedSince) return;
  throw fail('Conflict', `machineconfignode ${name} was changed meanwhile`);
}

function planted(world: ClusterWorld, { call }: Attempt, decide: Decide): Decide {
  const { overlooksMoves, overlooksRuns, liftsAnyCordon, takesDownForLeft } = world.plants();
  if (world.plants().takesServingForLeft === true && call.type === 'cordonNode') {
    return (node) => {
      const left = asCordoned(node);
      const change = decide(left);
      if (change === undefined || left === node) return change;
      const mark = { [ANNOTATION.CORDONED_BY]: updateNodeId(node.metadata.name) };
      return { annotations: { ...change.annotations, ...mark }, unschedulable: true };
    };
  }
  if (world.plants().leavesTaints === true) {
    return (node) => decide({ ...node, spec: { ...node.spec, taints: [] } });
  }
  if (overlooksRuns === true) return (node) => decide(withoutRun(node));
  if (overlooksMoves === true && call.type === 'cordonNode') {
    const labels = labelsFor((call.input as CordonNodeInput).pool);
    return (node) => decide({ ...node, metadata: { ...node.metadata, labels } });
  }
  if (takesDownForLeft === true && call.type === 'cordonNode') {
    return (node) => decide(isInService(node) ? node : asLeft(node));
  }
  if (liftsAnyCordon !== true) return decide;
  return (node) => {
    const change = decide(node);
    const state = change?.annotations?.[ANNOTATION.STATE] ?? 'Working';
    return state === 'Working' ? change : { ...change, unschedulable: false };
  };
}

/** As if an update of it had failed. */
function asLeft(node: Node): Node {
  const failed = { [ANNOTATION.DESIRED_CONFIG]: 'rendered-other', [ANNOTATION.STATE]: 'Degraded' };
  const annotations = { ...node.metadata.annotations, ...failed };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

/** As if an update of it had left its cordon there. */
function asCordoned(node: Node): Node {
  if (!isWorking(node) || node.spec?.unschedulable === true) return node;
  const mark = { [ANNOTATION.CORDONED_BY]: updateNodeId(node.metadata.name) };
  const annotations = { ...node.metadata.annotations, ...mark };
  // Of whoever wrote it last, nothing is known.
  const metadata = { ...node.metadata, annotations, managedFields: [] };
  return { ...node, metadata, spec: { ...node.spec, unschedulable: true } };
}

function cordonedWhereHalfDone(nodes: DatedLookup<Node>): DatedLookup<Node> {
  return {
    synced: nodes.synced,
    newest: nodes.newest,
    silentMs: nodes.silentMs,
    reached: (version, patienceMs) => nodes.reached(version, patienceMs),
    get: (name) =>
      nodes
        .list()
        .map(asCordoned)
        .find(({ metadata }) => metadata.name === name),
    list: () => nodes.list().map(asCordoned),
    subscribe: (listener) => nodes.subscribe(listener),
  };
}

/** As nobody has written it yet. */
function withoutRun(node: Node): Node {
  const annotations = { ...node.metadata.annotations };
  delete annotations[ANNOTATION.UPDATE_RUN];
  return { ...node, metadata: { ...node.metadata, annotations } };
}

interface NodeWriting {
  readonly cluster: Cluster;
  readonly picture: Picture;
  readonly ask: <T>(work: () => T) => Promise<T>;
  readonly confirm: (() => Promise<void>) | undefined;
}

/** As `adapters/kube` does it: decided, written on the condition that nobody else wrote, or again. */
async function changeNode(
  { cluster, picture, ask, confirm }: NodeWriting,
  name: string,
  decide: Decide,
): Promise<Node> {
  const shown = picture.nodes.get(name);
  let known =
    shown !== undefined && wants(decide, shown) ? shown : await ask(() => cluster.node(name));
  for (;;) {
    const change = decide(known);
    if (change === undefined) return known;
    await confirm?.();
    const { resourceVersion } = known.metadata;
    const written = await ask(() => {
      if (cluster.node(name).metadata.resourceVersion !== resourceVersion) return undefined;
      return cluster.changeNode(name, change, 'slipway');
    });
    if (written !== undefined) return written;
    known = await ask(() => cluster.node(name));
  }
}

/** Nothing to do, or a refusal, is never decided on the watch alone. */
function wants(decide: Decide, known: Node): boolean {
  try {
    return decide(known) !== undefined;
  } catch {
    return false;
  }
}

function poolWith(pool: MachineConfigPool, change: PoolChange): MachineConfigPool {
  const annotations = { ...pool.metadata.annotations };
  for (const [key, value] of Object.entries(change.annotations)) {
    if (value === null) delete annotations[key];
    else annotations[key] = value;
  }
  const { paused } = change;
  return {
    ...pool,
    metadata: { ...pool.metadata, annotations },
    spec: { ...pool.spec, ...(paused === undefined ? {} : { paused }) },
  };
}

function runOf(attempt: Attempt, { clock, plants }: ClusterWorld): ActivityRun {
  const { believesAwaited } = plants();
  const silent = (): void => undefined;
  return {
    signal: attempt.signal,
    lastHeartbeat: undefined,
    scheduledAtMs: attempt.call.scheduledAt,
    temporalNow: () => clock.now,
    attemptMs: attempt.call.attemptMs,
    // No time passes, so that no number is drawn for it.
    isAwaited: () => attempt.request(0, 0, () => believesAwaited === true || attempt.isAwaited()),
    log: { debug: silent, info: silent, warn: silent },
    heartbeat: silent,
  };
}

function readConfig(world: ClusterWorld, name: string): MachineConfig {
  if (world.cluster.forbidsConfigs) throw fail('ApiForbidden', 'machineconfigs may not be read');
  if (!world.configNames().includes(name)) throw fail('ObjectNotFound', `no config ${name}`);
  return {
    metadata: { name },
    spec: { config: { ignition: { version: '3.4.0' } } },
  };
}

function podObject(node: string, { name }: SimulatedPod): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop', uid: 'shop' };
  return {
    metadata: {
      ...{ name, namespace: 'shop', uid: `${node}-${name}` },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: { nodeName: node },
    status: { phase: 'Running' },
  };
}

function these<T extends { readonly metadata: { readonly name: string } }>(
  objects: readonly T[],
): DatedLookup<T> {
  return {
    synced: Promise.resolve(),
    newest: 0,
    silentMs: 0,
    reached: () => Promise.resolve(true),
    get: (name) => objects.find(({ metadata }) => metadata.name === name),
    list: () => objects,
    subscribe: () => () => undefined,
  };
}

function none<T>(): Lookup<T> {
  return {
    synced: Promise.resolve(),
    get: () => undefined,
    list: () => [],
    subscribe: () => () => undefined,
  };
}

/** A percentage of all nodes instead of those of the pool. */
function countedOverAll(
  pools: DatedLookup<MachineConfigPool>,
  nodes: Cluster['nodes'],
): DatedLookup<MachineConfigPool> {
  const counted = these(
    pools.list().map((pool) => {
      const { maxUnavailable } = pool.spec;
      if (typeof maxUnavailable !== 'string') return pool;
      const count = Math.floor((parseInt(maxUnavailable, 10) * nodes.size) / 100);
      return { ...pool, spec: { ...pool.spec, maxUnavailable: Math.max(1, count) } };
    }),
  );
  return { ...counted, newest: pools.newest };
}
