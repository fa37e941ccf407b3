import type { ClusterActivities } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { holdChange } from './node-changes';

/** Marks a node as held for a config, or clears the mark. Safe to run twice. */
export function createHoldNode(ports: ClusterPorts): ClusterActivities['holdNode'] {
  return async ({ node, config, reason }) => {
    await ports.nodes.change(node, (known) => holdChange(known, config, reason));
    ports.run().log.info(reason === undefined ? 'released hold of node' : 'held node', {
      node,
      config,
      ...(reason === undefined ? {} : { reason }),
    });
  };
}
