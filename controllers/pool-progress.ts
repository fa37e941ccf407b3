/** When the rollout of a pool last went on, from the cluster's objects alone. */

import { NodeCondition, PoolCondition } from '../core/names';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';
import { decideRollout } from './rollout/decision';

/** What decides whether a rollout goes on, beside pools and nodes. */
export interface KnownOfPools {
  machineConfigNode(name: string): MachineConfigNode | undefined;
  policy(pool: string): RolloutPolicy | undefined;
}

/** Conditions of a MachineConfigNode that say nothing about its update. */
const BESIDE_UPDATES: ReadonlySet<string> = new Set([
  NodeCondition.DRIFTED,
  NodeCondition.FOREIGN_UPDATER,
  NodeCondition.HOST_BUNDLE,
  NodeCondition.PINNED_IMAGE_SETS_PROGRESSING,
  NodeCondition.PINNED_IMAGE_SETS_DEGRADED,
]);

/**
 * When the rollout last went on, ms: updates show their steps on the MachineConfigNodes. Undefined =
 * none should go on.
 */
export function lastProgress(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  known: KnownOfPools,
): number | undefined {
  const policy = known.policy(pool.metadata.name);
  const decision = decideRollout({ pool, nodes, ...(policy === undefined ? {} : { policy }) });
  const behindSince = fellBehindAt(pool);
  if (decision.kind !== 'roll' || behindSince === undefined) return undefined;
  let wentOnAt = behindSince;
  for (const { metadata } of nodes) {
    for (const condition of known.machineConfigNode(metadata.name)?.status?.conditions ?? []) {
      if (condition.lastTransitionTime === undefined || BESIDE_UPDATES.has(condition.type))
        continue;
      wentOnAt = Math.max(wentOnAt, Date.parse(condition.lastTransitionTime));
    }
  }
  return wentOnAt;
}

/** The status of the pool keeps it over a change of the leader. */
export function fellBehindAt(pool: MachineConfigPool): number | undefined {
  const updated = pool.status?.conditions?.find(({ type }) => type === PoolCondition.UPDATED);
  if (updated?.status !== 'False' || updated.lastTransitionTime === undefined) return undefined;
  return Date.parse(updated.lastTransitionTime);
}
