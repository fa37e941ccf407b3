/** Whether a joined node is adopted on the config that its machine came with. */

import { adoptionOf } from '../../core/node/adoption';
import { isDegraded, isTargetedAt } from '../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { nodesOfPool } from '../../core/pool/membership';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { looksHalted, resolvePolicy } from '../../core/rollout';
import { memberOf } from '../../core/rollout/standing';
import type { ClusterPicture } from '../cluster-picture';
import { decideRollout } from '../rollout/decision';

interface JoinedNode {
  readonly node: Node;
  /** With the report of its host. */
  readonly known: MachineConfigNode;
  readonly pool: MachineConfigPool;
  readonly policy: RolloutPolicy | undefined;
  readonly isOfPool: (config: string) => boolean;
  readonly picture: Pick<ClusterPicture, 'nodes' | 'pools' | 'machineConfigNodes'>;
}

/**
 * Undefined = the node has them, or a rollout will write them.
 *
 * On the target a node is adopted at once. On an older config of the pool it waits for the rollout,
 * unless no rollout will come: the pool is paused or waits for a person, too many nodes failed, or
 * this one failed before its host reported. On any other config it is not adopted.
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

function willNotBeAsked(joined: JoinedNode): boolean {
  const { node, pool, policy } = joined;
  const decision = decideRollout({
    pool,
    nodes: [node],
    ...(policy === undefined ? {} : { policy }),
  });
  if (decision.kind === 'wait') return true;
  return decision.kind === 'roll' && isHalted(joined, decision.target);
}

/** As in the rollout. */
function isHalted({ pool, policy, picture }: JoinedNode, target: string): boolean {
  const nodes = picture.nodes.list();
  // Saves sorting thousands of nodes into pools.
  if (!nodes.some((node) => hasFailedOn(node, target))) return false;
  const members = nodesOfPool(pool, nodes, picture.pools.list()).map((node) => {
    const machineConfigNode = picture.machineConfigNodes.get(node.metadata.name);
    return memberOf(node, { target, ...(machineConfigNode && { machineConfigNode }) });
  });
  return looksHalted(members, resolvePolicy(policy?.spec));
}

function hasFailedOn(node: Node, config: string): boolean {
  return isDegraded(node) && isTargetedAt(node, config);
}
