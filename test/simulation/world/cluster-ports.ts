/** The ports of a cluster worker on the simulated cluster and the simulated Temporal. */

import type {
  ActivityRun,
  ClusterPorts,
  DatedLookup,
  Lookup,
  NodeChange,
  PoolChange,
} from '../../../activities/cluster/ports';
import type { Pod } from '../../../core/drain';
import { fail } from '../../../core/errors';
import type { MachineConfig } from '../../../core/machine-config/types';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { SeenVersions } from '../../../workflows/contracts/rollout';
import type { Chance, VirtualClock } from '../clock';
import type { Attempt } from '../temporal/attempt';
import type { TemporalClient } from '../temporal/client';
import type { Cluster, Picture } from './cluster';
import type { ActivityPlants } from './plants';
import { currentAttempt } from './virtual-timers';

/** A workload that a drain must move. */
export interface SimulatedPod {
  readonly name: string;
  /** No budget lets it go. */
  stuck: boolean;
  /** Since when it is on its node. */
  readonly boundAt: number;
}

export interface ClusterWorld {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly cluster: Cluster;
  readonly client: TemporalClient;
  readonly pods: ReadonlyMap<string, SimulatedPod[]>;
  readonly plants: ActivityPlants;
  wake(pool: string, seen: SeenVersions): void;
  wrotePaused(pool: string, paused: boolean): void;
  configNames(): readonly string[];
}

/** A request of the attempt that runs now. */
type Ask = <T>(work: () => T) => Promise<T>;

/** @param picture - what the worker sees */
export function portsFor(world: ClusterWorld, picture: Picture): ClusterPorts {
  const { cluster, clock, chance, client } = world;
  const reach = <T>(work: () => T): T => {
    if (cluster.isAway) throw fail('ApiUnavailable', 'the API server does not answer');
    return work();
  };
  const ask: Ask = (work) =>
    currentAttempt().request(chance.latency(5, 4_000), chance.latency(5, 4_000), () => reach(work));
  return {
    view: viewOf(world, picture),
    nodes: {
      change: (name, decide, confirm) =>
        changeNode({ cluster, picture, ask, confirm }, name, planted(world, decide)),
      read: (name) => ask(() => cluster.node(name)),
      // Of the process, and not of the attempt that asked first.
      refresh: () =>
        new Promise((resolve, reject) => {
          clock.after(chance.latency(5, 4_000), () => {
            if (cluster.isAway) {
              reject(fail('ApiUnavailable', 'the API server does not answer'));
              return;
            }
            picture.nodes.listed();
            resolve();
          });
        }),
    },
    machineConfigNodes: machineConfigNodesOf(cluster, ask),
    pools: poolsOf(world, ask),
    poolRollouts: poolRolloutsOf(world, ask),
    nodeUpdates: client.nodeUpdates((...request) => currentAttempt().request(...request)),
    rollouts: {
      wake: (pool, seen) => {
        if (currentAttempt().alive) world.wake(pool, seen);
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
    events: { onNode: () => undefined, onPool: () => undefined },
    run: () => runOf(currentAttempt(), world),
    now: () => clock.now,
  };
}

function viewOf({ cluster }: ClusterWorld, picture: Picture): ClusterPorts['view'] {
  const { nodes, pools, machineConfigNodes, poolRollouts } = picture;
  return {
    nodes: livingOnly(nodes),
    pools: livingOnly(pools),
    machineConfigNodes: livingOnly(machineConfigNodes),
    poolRollouts: livingOnly(poolRollouts),
    policies: these<RolloutPolicy>(() =>
      [...cluster.policies].map(([name, spec]) => ({ metadata: { name }, spec })),
    ),
    machineConfigurations: none(),
    budgets: none(),
    daemonSets: none(),
  };
}

/** Whoever listens for an attempt whose process ends hears nothing more. */
function livingOnly<T>(lookup: DatedLookup<T>): DatedLookup<T> {
  return {
    synced: lookup.synced,
    get newest() {
      return lookup.newest;
    },
    get silentMs() {
      return lookup.silentMs;
    },
    reached: (version, patienceMs) => lookup.reached(version, patienceMs),
    get: (name) => lookup.get(name),
    list: () => lookup.list(),
    subscribe: (listener) => {
      const attempt = currentAttempt();
      const stop = lookup.subscribe((event) => {
        attempt.hears(() => {
          listener(event);
        });
      });
      attempt.atEnd(stop);
      return stop;
    },
  };
}

function machineConfigNodesOf(cluster: Cluster, ask: Ask): ClusterPorts['machineConfigNodes'] {
  return {
    read: (name) => ask(() => cluster.machineConfigNode(name)),
    applySpec: ({ name, uid }, spec, unchangedSince) =>
      ask(() => {
        cluster.node(name);
        const known = cluster.machineConfigNodes.get(name);
        refuseChanged(name, known, unchangedSince);
        const metadata = { ...known?.metadata, name, uid };
        return cluster.writeMachineConfigNode({ ...known, metadata, spec });
      }),
    annotate: (name, annotations) =>
      ask(() => {
        const { metadata, ...known } = cluster.machineConfigNode(name);
        return cluster.writeMachineConfigNode({
          ...known,
          metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
        });
      }),
    applyStatus: (name, status, unchangedSince) =>
      ask(() => {
        const known = cluster.machineConfigNode(name);
        refuseChanged(name, known, unchangedSince);
        return cluster.writeMachineConfigNode({ ...known, status });
      }),
  };
}

function poolsOf(world: ClusterWorld, ask: Ask): ClusterPorts['pools'] {
  const { cluster } = world;
  return {
    change: async (name, decide) => {
      const known = await ask(() => cluster.pool(name));
      const change = await decide(known);
      if (change === undefined) return known;
      return ask(() => {
        if (cluster.refusesPools) throw fail('ApiRefused', `a policy denies it: pool ${name}`);
        const isSame =
          cluster.pool(name).metadata.resourceVersion === known.metadata.resourceVersion;
        if (!isSame) throw fail('Conflict', `pool ${name} has changed`);
        cluster.changePool(name, (pool) => poolWith(pool, change));
        if (change.paused !== undefined) world.wrotePaused(name, change.paused);
        return cluster.pool(name);
      });
    },
  };
}

function poolRolloutsOf({ cluster, plants }: ClusterWorld, ask: Ask): ClusterPorts['poolRollouts'] {
  return {
    read: (pool) => ask(() => cluster.poolRollouts.get(pool)),
    create: (pool) => ask(() => cluster.createRollout(pool)),
    delete: (rollout) => ask(() => cluster.deleteRollout(rollout, 'slipway')),
    writeStatus: (rollout, status) =>
      ask(() => {
        const known = cluster.poolRollouts.get(rollout.metadata.name);
        const isForced = plants.writesOverOthers === true && known !== undefined;
        return cluster.writeRollout(isForced ? known : rollout, status, 'slipway');
      }),
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

function planted({ plants }: ClusterWorld, decide: Decide): Decide {
  if (plants.leavesTaints !== true) return decide;
  return (node) => decide({ ...node, spec: { ...node.spec, taints: [] } });
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

function runOf(attempt: Attempt, { clock }: ClusterWorld): ActivityRun {
  const silent = (): void => undefined;
  return {
    signal: attempt.signal,
    attempt: attempt.call.attempt,
    lastHeartbeat: attempt.call.lastHeartbeat,
    scheduledAtMs: attempt.call.scheduledAt,
    temporalNow: () => clock.now,
    ...(attempt.call.attemptMs === 0 ? {} : { attemptMs: attempt.call.attemptMs }),
    // No time passes, so that no number is drawn for it.
    isAwaited: () => attempt.request(0, 0, () => attempt.isAwaited()),
    log: { debug: silent, info: silent, warn: silent },
    heartbeat: (details) => {
      attempt.heartbeat(details);
    },
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
  objects: () => readonly T[],
): DatedLookup<T> {
  return {
    synced: Promise.resolve(),
    newest: 0,
    silentMs: 0,
    reached: () => Promise.resolve(true),
    get: (name) => objects().find(({ metadata }) => metadata.name === name),
    list: () => objects(),
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
