import { failureName, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { departure } from '../../core/rollout';
import type { DepartedNode, RememberedNode } from '../../workflows/cluster-contracts';
import type { ClusterPorts } from '../ports';
import { inParallel } from './in-parallel';

/** Hundreds of machines may be deleted at once, and a look is short. */
const PARALLEL_READS = 10;

type Departure = NonNullable<ReturnType<typeof departure>>;
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
  const whether = (one: RememberedNode, node: Node | undefined): Departure | undefined => {
    const { node: name, uid } = one;
    const question = { name, pool, ...(uid === undefined ? {} : { uid }) };
    return departure({ ...question, node, pools: view.pools.list() });
  };
  const missing = remembered.filter((one) => whether(one, view.nodes.get(one.node)) !== undefined);
  const departed = new Map<string, Departure>();
  await inParallel(missing, PARALLEL_READS, async (one) => {
    const { node } = one;
    try {
      const found = whether(one, await read(ports, node));
      if (found !== undefined) departed.set(node, found);
    } catch (error) {
      const reason = messageOf(error);
      ports.run().log.warn('not known whether the node has left its pool', { node, reason });
    }
  });
  return missing.flatMap(({ node }) => {
    const found = departed.get(node);
    return found === undefined ? [] : [{ node, ...found }];
  });
}

async function read(ports: DepartedPorts, name: string): Promise<Node | undefined> {
  try {
    return await ports.nodes.read(name);
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}
