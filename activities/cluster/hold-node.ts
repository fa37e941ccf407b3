import { fail } from '../../core/errors';
import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import { movedTo } from '../../core/rollout';
import type { ClusterActivities } from '../../workflows/contracts/cluster';
import type { ClusterPorts, NodeChange } from './ports';
import { holdChange } from './node-changes';
import { whileAwaited } from './still-wanted';
import { written } from './written-node';

/**
 * Marks a node as held for a config, or clears the mark, at a person's request. Safe to run twice.
 * A late attempt is dropped: the person may have requested the opposite since.
 *
 * @throws `RefusedRequest` when the node belongs to another pool; `ObjectNotFound` when there is
 *   none; `Conflict` when this attempt was given up
 */
export function createHoldNode(ports: ClusterPorts): ClusterActivities['holdNode'] {
  return async ({ node, pool, config, reason }) => {
    const change = (known: Node): NodeChange | undefined => {
      refuseStranger(known, pool, ports.view.pools.list());
      return holdChange(known, config, reason);
    };
    const changed = await ports.nodes.change(node, change, whileAwaited(ports, { node }));
    ports.run().log.info(reason === undefined ? 'released hold of node' : 'held node', {
      node,
      config,
      ...(reason === undefined ? {} : { reason }),
    });
    return written(changed);
  };
}

/**
 * Refuses a node of another pool: the rollout does not know all its nodes itself.
 *
 * @throws `RefusedRequest`
 */
export function refuseStranger(
  node: Node,
  pool: string,
  pools: readonly MachineConfigPool[],
): void {
  const { name } = node.metadata;
  const owner = movedTo(node, pool, pools);
  if (owner === undefined) return;
  throw fail('RefusedRequest', `node ${name} belongs to ${owner}, not to pool ${pool}`, {
    node: name,
  });
}
