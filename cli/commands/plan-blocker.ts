/** Why a rollout could not start a node now, in the words of the rollout. */

import { findProblems } from '../../controllers/pool-status/pool-problems';
import { messageOf } from '../../core/errors';
import { assignNodes } from '../../core/pool';
import type { MachineConfigPool } from '../../core/pool/types';
import type { NamedReason, PoolView } from '../../core/rollout';
import { decideSlots, resolvePolicy, rolloutState } from '../../core/rollout';
import { compileSelector } from '../../core/selectors';
import type { ClusterView } from '../ports';

/**
 * Undefined when a node could start, or when all are updated.
 *
 * @param hasTarget - the rendered config of the pool exists
 */
export function planBlocker(
  view: ClusterView,
  pool: MachineConfigPool,
  observed: PoolView,
  hasTarget: boolean,
): string | undefined {
  return selectorProblem(view, pool) ?? rolloutBlocker(view, observed, hasTarget);
}

function selectorProblem(view: ClusterView, pool: MachineConfigPool): string | undefined {
  const { name } = pool.metadata;
  const problems = findProblems(view.nodes, view.pools, assignNodes(view.nodes, view.pools));
  const invalid = problems.get(name)?.find(({ reason }) => reason === 'InvalidPool');
  if (invalid !== undefined) return invalid.message;
  if (!compileSelector(pool.spec.nodeSelector).empty) return undefined;
  return (
    `machineconfigpool ${name}: spec.nodeSelector is empty, so the pool has no nodes; ` +
    `add for example matchLabels: {"node-role.kubernetes.io/${name}": ""}`
  );
}

/** All candidates are control-plane nodes, and the quorum allows no other to go. */
function allHeldByControlPlane({
  candidates,
  controlPlane,
  ...now
}: PoolView): readonly NamedReason[] {
  if (controlPlane === undefined) return [];
  const waiting = candidates.map(({ node }) => node);
  const { withheld } = decideSlots({ ...now, controlPlane, holders: [], waiting });
  const held = withheld.filter(({ byControlPlane }) => byControlPlane);
  return held.length === candidates.length ? held : [];
}

function rolloutBlocker(
  { policies }: ClusterView,
  observed: PoolView,
  hasTarget: boolean,
): string | undefined {
  const { pool, target, candidates, updated, ...facts } = observed;
  const policy = policies.find(({ metadata }) => metadata.name === pool);
  try {
    const { blocker } = rolloutState({
      ...facts,
      pool,
      ...(target === undefined || !hasTarget ? {} : { config: target }),
      updated: updated.length,
      children: [],
      childrenHeld: allHeldByControlPlane(observed),
      candidateCount: candidates.length,
      policy: resolvePolicy(policy?.spec),
    });
    return target === undefined || hasTarget || blocker === undefined
      ? blocker
      : `rendered config ${target} of the pool does not exist; ${blocker}`;
  } catch (error) {
    // An impossible policy stops the rollout, too.
    return messageOf(error);
  }
}
