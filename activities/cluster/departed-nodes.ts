import { failureName, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { departure } from '../../core/rollout';
import type { DepartedNode, RememberedNode } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';

type DepartedPorts = Pick<ClusterPorts, 'nodes' | 'run'> & {
  readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'>;
};

/**
 * Which of the nodes have left the pool. The picture may be older than what the rollout has seen, so
 * whoever seems to be gone is asked for at the server; one that does not answer leaves it open.
 */
export async function departedNodes(
  ports: DepartedPorts,
  pool: string,
  remembered: readonly RememberedNode[],
): Promise<readonly DepartedNode[]> {
  const { view } = ports;
  const departed: DepartedNode[] = [];
  for (const { node: name, uid } of remembered) {
    const question = { name, pool, ...(uid === undefined ? {} : { uid }) };
    const look = (node: Node | undefined) =>
      departure({ ...question, node, pools: view.pools.list() });
    if (look(view.nodes.get(name)) === undefined) continue;
    try {
      const found = look(await read(ports, name));
      if (found !== undefined) departed.push({ node: name, ...found });
    } catch (error) {
      const reason = messageOf(error);
      ports.run().log.warn('not known whether the node has left its pool', { node: name, reason });
    }
  }
  return departed;
}

async function read(ports: DepartedPorts, name: string): Promise<Node | undefined> {
  try {
    return await ports.nodes.read(name);
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}
