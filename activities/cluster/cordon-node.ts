import { NodeCondition } from '../../core/names';
import { NodePhase } from '../../core/node/lifecycle';
import { isCordonedBySlipway } from '../../core/rollout';
import type { ClusterActivities } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { cordonChange } from './node-changes';
import { showPhase } from './show-phase';

/**
 * Targets and cordons a node. Safe to run twice: a Node that says all of it already is not written
 * again, and neither is its MachineConfigNode.
 *
 * The phase shown is the next one (Draining, Applying): this one is over when it could be seen.
 */
export function createCordonNode(ports: ClusterPorts): ClusterActivities['cordonNode'] {
  return async (input) => {
    const node = await ports.nodes.change(input.node, (known) => cordonChange(known, input));
    await showPhase(ports, {
      node,
      pool: input.pool,
      config: input.config,
      phase: input.cordon ? NodePhase.DRAINING : NodePhase.APPLYING,
      message: input.summary,
      ...(input.cordon ? { done: [NodeCondition.CORDONED] } : {}),
    });
    const cordoned = isCordonedBySlipway(node);
    ports.run().log.info(cordoned ? 'cordoned node' : 'targeted node', {
      node: input.node,
      config: input.config,
    });
    return { cordoned };
  };
}
