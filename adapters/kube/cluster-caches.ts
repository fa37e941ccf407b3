import type { MachineConfiguration } from '../../core/disruption/types';
import type { PodDisruptionBudget } from '../../core/drain';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { CONFIG_GROUP } from '../../core/names';
import type { PoolRollout } from '../../core/rollout/pool-rollout';
import { WatchCache } from './cache';
import {
  DAEMON_SETS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGURATIONS,
  NODES,
  POD_DISRUPTION_BUDGETS,
  POOL_ROLLOUTS,
  ROLLOUT_POLICIES,
  type KubeObject,
  type Resource,
} from './resources';
import type { Log } from './transport';
import { trimBudget, trimNode, trimToName } from './trim';
import type { WatchSource } from './watch';

/** For decisions about the nodes of a pool. */
export interface PoolCaches {
  readonly nodes: WatchCache<Node>;
  readonly pools: WatchCache<MachineConfigPool>;
  readonly machineConfigNodes: WatchCache<MachineConfigNode>;
  readonly policies: WatchCache<RolloutPolicy>;
}

export interface ClusterCaches extends PoolCaches {
  readonly poolRollouts: WatchCache<PoolRollout>;
  readonly machineConfigurations: WatchCache<MachineConfiguration>;
  readonly budgets: WatchCache<PodDisruptionBudget>;
  readonly daemonSets: WatchCache<KubeObject>;
}

export function createPoolCaches(log: Log): PoolCaches {
  return {
    nodes: new WatchCache({ resource: NODES, log, transform: trimNode }),
    pools: new WatchCache({ resource: MACHINE_CONFIG_POOLS, log }),
    machineConfigNodes: new WatchCache({ resource: MACHINE_CONFIG_NODES, log }),
    policies: new WatchCache({ resource: ROLLOUT_POLICIES, log }),
  };
}

export function createClusterCaches(log: Log): ClusterCaches {
  return {
    ...createPoolCaches(log),
    poolRollouts: new WatchCache({ resource: POOL_ROLLOUTS, log }),
    machineConfigurations: machineConfigurationCache(log),
    budgets: new WatchCache({ resource: POD_DISRUPTION_BUDGETS, log, transform: trimBudget }),
    daemonSets: new WatchCache({ resource: DAEMON_SETS, log, transform: trimToName }),
  };
}

/** A cluster without this kind has the default policies. */
export function machineConfigurationCache(log: Log): WatchCache<MachineConfiguration> {
  return new WatchCache({ resource: MACHINE_CONFIGURATIONS, log, optional: true });
}

type AnyCache = Pick<WatchCache<KubeObject>, 'isSynced' | 'synced' | 'run' | 'resource'>;
type Caches<C> = { readonly [K in keyof C]: AnyCache };

export async function runCaches<C extends Caches<C>>(
  caches: C,
  source: WatchSource,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(allOf(caches).map((cache) => cache.run(source, signal)));
}

export async function whenCachesSynced<C extends Caches<C>>(caches: C): Promise<void> {
  await Promise.all(allOf(caches).map((cache) => cache.synced));
}

export function unsyncedKinds<C extends Caches<C>>(caches: C): readonly string[] {
  return allOf(caches)
    .filter(({ isSynced }) => !isSynced)
    .map(({ resource: { group, plural } }) =>
      group === CONFIG_GROUP ? `${plural}.${group}` : plural,
    );
}

/** The next decision sees an own write. */
export function absorbInto<C extends Caches<C>>(
  caches: C,
  resource: Resource,
  object: KubeObject,
): void {
  const cache = allOf(caches).find(
    ({ resource: { group, plural } }) => group === resource.group && plural === resource.plural,
  );
  (cache as WatchCache<KubeObject> | undefined)?.absorb(object);
}

function allOf<C extends Caches<C>>(caches: C): readonly AnyCache[] {
  return Object.values<AnyCache>(caches);
}
