import { NodePhase } from '../../core/node/lifecycle';
import type { ClusterActivities } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { written } from './written-node';
import { completeChange } from './node-changes';
import { showPhase } from './show-phase';
import { tell } from './tell';

/**
 * Returns a verified node to service. Safe to run twice, and retried until it holds: the Node is
 * written first, so that a MachineConfigNode that cannot be written never keeps a cordon.
 */
export function createCompleteNode(ports: ClusterPorts): ClusterActivities['completeNode'] {
  return async (input) => {
    const { node: name, config } = input;
    const node = await ports.nodes.change(name, (known) => completeChange(known, input));
    await showPhase(ports, { node, pool: input.pool, config, phase: NodePhase.UPDATED });
    ports.run().log.info('updated node', { node: name, config });
    await tell(ports, node, 'Normal', 'NodeDone', `node is on ${config}`);
    return written(node);
  };
}
