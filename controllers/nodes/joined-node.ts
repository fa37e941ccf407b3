/** Whether a node that has joined says what it came with without a rollout that asks it. */

import { adoptionOf } from '../../core/node/adoption';
import { isDegraded, isTargetedAt } from '../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { nodesOfPool } from '../../core/pool/membership';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { looksHalted, observePool, resolvePolicy } from '../../core/rollout';
import type { ClusterPicture } from '../cluster-picture';
import { decideRollout } from '../rollout/decision';

export interface JoinedNode {
  readonly node: Node;
  /** Its MachineConfigNode, with what its host has reported. */
  readonly known: MachineConfigNode;
  readonly pool: MachineConfigPool;
  readonly policy: RolloutPolicy | undefined;
  /** Whether this is a rendered config of the pool. */
  readonly isOfPool: (config: string) => boolean;
  /** Where the other nodes stand. */
  readonly picture: Pick<ClusterPicture, 'nodes' | 'pools' | 'machineConfigNodes'>;
}

/**
 * The annotations with which it becomes a member; undefined = it says them, or a rollout will.
 *
 * On the pool's config it is a member at once, whatever the pool waits for. On an older one of the pool
 * it is left to the rollout, which takes new nodes first, unless none will ask it: the pool is paused, or
 * waits for a person, or too many failed, or the node itself did before its host was heard. Of any other
 * config nobody here knows what to make.
 */
export function joinedAnnotations(
  joined: JoinedNode,
): Readonly<Record<string, string>> | undefined {
  const { node, known, pool } = joined;
  const adoption = adoptionOf(node, known);
  if (adoption === undefined) return undefined;
  const { config, annotations } = adoption;
  if (config === pool.spec.configuration?.name) return annotations;
  if (!joined.isOfPool(config)) return undefined;
  return isDegraded(node) || willNotBeAsked(joined) ? annotations : undefined;
}

/** Whether the pool waits, or its rollout is halted. */
function willNotBeAsked(joined: JoinedNode): boolean {
  const { node, pool, policy } = joined;
  const decision = decideRollout({
    pool,
    nodes: [node],
    ...(policy === undefined ? {} : { policy }),
  });
  if (decision.kind === 'settled') return false;
  return decision.kind === 'wait' || isHalted(joined, decision.target);
}

/** As the rollout sees it, apart from nodes that a person has just told it to try again. */
function isHalted({ pool, policy, picture }: JoinedNode, target: string): boolean {
  const nodes = picture.nodes.list();
  const failed = nodes.filter((node) => hasFailedOn(node, target));
  // Of thousands of nodes mostly none has, and nobody has to be sorted into pools.
  if (failed.length === 0) return false;
  const view = observePool({
    pool,
    nodes: nodesOfPool(pool, nodes, picture.pools.list()),
    machineConfigNodes: failed.flatMap(
      ({ metadata }) => picture.machineConfigNodes.get(metadata.name) ?? [],
    ),
  });
  return looksHalted(view, resolvePolicy(policy?.spec));
}

function hasFailedOn(node: Node, config: string): boolean {
  return isDegraded(node) && isTargetedAt(node, config);
}
