/** Every watch that the cluster worker keeps, under one start. */

import type { PodDisruptionBudget } from '../../core/drain';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { WatchCache } from './cache';
import {
  DAEMON_SETS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGURATIONS,
  NODES,
  POD_DISRUPTION_BUDGETS,
  ROLLOUT_POLICIES,
  type KubeObject,
  type MachineConfiguration,
} from './resources';
import type { Log } from './transport';
import { trimBudget, trimNode, trimToName } from './trim';
import type { WatchSource } from './watch';

export interface ClusterCaches {
  readonly nodes: WatchCache<Node>;
  readonly pools: WatchCache<MachineConfigPool>;
  readonly machineConfigNodes: WatchCache<MachineConfigNode>;
  readonly policies: WatchCache<RolloutPolicy>;
  readonly machineConfigurations: WatchCache<MachineConfiguration>;
  readonly budgets: WatchCache<PodDisruptionBudget>;
  readonly daemonSets: WatchCache<KubeObject>;
}

export function createClusterCaches(log: Log): ClusterCaches {
  return {
    nodes: new WatchCache({ resource: NODES, log, transform: trimNode }),
    pools: new WatchCache({ resource: MACHINE_CONFIG_POOLS, log }),
    machineConfigNodes: new WatchCache({ resource: MACHINE_CONFIG_NODES, log }),
    policies: new WatchCache({ resource: ROLLOUT_POLICIES, log }),
    // A cluster without OpenShift's operator API has nobody's policies, and that is fine.
    machineConfigurations: new WatchCache({
      resource: MACHINE_CONFIGURATIONS,
      log,
      optional: true,
    }),
    budgets: new WatchCache({ resource: POD_DISRUPTION_BUDGETS, log, transform: trimBudget }),
    daemonSets: new WatchCache({ resource: DAEMON_SETS, log, transform: trimToName }),
  };
}

/** Follows the cluster until the signal aborts. */
export async function runClusterCaches(
  caches: ClusterCaches,
  source: WatchSource,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    Object.values(caches).map((cache: WatchCache<never>) => cache.run(source, signal)),
  );
}

/** Resolves when every watch has its first complete picture. */
export async function whenCachesSynced(caches: ClusterCaches): Promise<void> {
  await Promise.all(Object.values(caches).map((cache: WatchCache<never>) => cache.synced));
}
