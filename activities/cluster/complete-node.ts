import { NodePhase } from '../../core/node/lifecycle';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import type { ClusterActivities, NodeStep } from '../../workflows/contracts/cluster';
import type { ClusterPorts, NodeChange } from './ports';
import { changeInTurn } from './in-turn';
import { orDeleted } from './known-node';
import { completeChange, type Turned } from './node-changes';
import { showPhase } from './show-phase';
import { whileWanted } from './still-wanted';
import { tell } from './tell';

/**
 * Returns a verified node to service. Safe to run twice, and retried until it succeeds. Writes the
 * Node first: a MachineConfigNode that cannot be written keeps no cordon.
 */
export function createCompleteNode(ports: ClusterPorts): ClusterActivities['completeNode'] {
  return async (input) => {
    const { node: name, config } = input;
    const throwIfGivenUp = whileWanted(ports, input);
    let isUncordoned = false;
    const change = (known: Node, step: Turned<NodeStep>): NodeChange | undefined => {
      // Another worker may have completed it, and another update may have begun.
      throwIfGivenUp();
      const difference = completeChange(known, step, new Date(ports.now()).toISOString());
      isUncordoned = difference?.unschedulable === false;
      return difference;
    };
    const node = await orDeleted(name, () => changeInTurn(ports, input, change));
    // The grant has ended: the next update need not wait for these writes.
    ports.rollouts.wake(input.pool, { nodes: versionOf(node) });
    if (isUncordoned) tell(ports, node, 'Normal', 'Uncordon', uncordonedOn(config));
    tell(ports, node, 'Normal', 'NodeDone', `node is on ${config}`);
    const { pool } = input;
    await showPhase(ports, { node, pool, config, phase: NodePhase.UPDATED, throwIfGivenUp });
    ports.run().log.info('updated node', { node: name, config });
  };
}

function uncordonedOn(config: string): string {
  return `Update completed for config ${config} and node has been uncordoned`;
}
