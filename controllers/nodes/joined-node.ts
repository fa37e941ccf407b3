/** Whether a node that has joined says what it came with without a rollout that asks it. */

import { adoptionOf } from '../../core/node/adoption';
import { isDegraded } from '../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { decideRollout } from '../rollout/decision';

export interface JoinedNode {
  readonly node: Node;
  /** Its MachineConfigNode, with what its host has reported. */
  readonly known: MachineConfigNode;
  readonly pool: MachineConfigPool;
  readonly policy: RolloutPolicy | undefined;
  /** Whether this is a rendered config of the pool. */
  readonly isOfPool: (config: string) => boolean;
}

/**
 * The annotations with which it becomes a member; undefined = it says them, or a rollout will.
 *
 * On the pool's config it is a member at once, whatever the pool waits for. On an older one of the pool
 * it is left to the rollout, which takes new nodes first, unless none will ask it: the pool is paused, or
 * waits for a person, or the node has failed before its host was heard. Of any other config nobody here
 * knows what to make.
 */
export function joinedAnnotations(
  joined: JoinedNode,
): Readonly<Record<string, string>> | undefined {
  const { node, known, pool, policy } = joined;
  const adoption = adoptionOf(node, known);
  if (adoption === undefined) return undefined;
  const { config, annotations } = adoption;
  if (config === pool.spec.configuration?.name) return annotations;
  if (!joined.isOfPool(config)) return undefined;
  const decision = decideRollout({
    pool,
    nodes: [node],
    ...(policy === undefined ? {} : { policy }),
  });
  return decision.kind === 'wait' || isDegraded(node) ? annotations : undefined;
}
