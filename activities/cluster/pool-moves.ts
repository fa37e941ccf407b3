import { failureName, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { departure } from '../../core/rollout';
import type { DepartedNode, RememberedNode } from '../../workflows/contracts/cluster';
import type { ClusterPorts } from './ports';
import { inParallel } from '../../core/concurrency-limit';

/** Hundreds of machines may be deleted at once. */
const PARALLEL_READS = 10;

type Departure = NonNullable<ReturnType<typeof departure>>;
type MovePorts = Pick<ClusterPorts, 'nodes' | 'run'> & {
  readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'>;
};

interface Moves {
  readonly departed: readonly DepartedNode[];
  /** Nodes that the rollout thinks gone, and that are members again. */
  readonly returned: readonly string[];
}

/**
 * Which nodes have left the pool, and which are back. The cache may be older than the rollout's
 * knowledge, so the server is asked for each; without an answer nothing changes.
 */
export async function movesOf(
  ports: MovePorts,
  pool: string,
  remembered: readonly RememberedNode[],
): Promise<Moves> {
  const { view } = ports;
  const whether = (one: RememberedNode, node: Node | undefined): Departure | undefined => {
    const { node: name, uid } = one;
    const question = { name, pool, ...(uid === undefined ? {} : { uid }) };
    return departure({ ...question, node, pools: view.pools.list() });
  };
  const isMissing = (one: RememberedNode) => whether(one, view.nodes.get(one.node)) !== undefined;
  const asked = remembered.filter((one) => one.moved === true || isMissing(one));
  const departed = new Map<string, Departure>();
  const returned = new Set<string>();
  await inParallel(asked, PARALLEL_READS, async (one) => {
    const { node } = one;
    try {
      const found = whether(one, await read(ports, node));
      if (found !== undefined) departed.set(node, found);
      else if (one.moved === true) returned.add(node);
    } catch (error) {
      const reason = messageOf(error);
      ports.run().log.warn('not known whether the node has left its pool', { node, reason });
    }
  });
  const names = asked.map(({ node }) => node);
  return {
    departed: names.flatMap((node) => {
      const found = departed.get(node);
      return found === undefined ? [] : [{ node, ...found }];
    }),
    returned: names.filter((node) => returned.has(node)),
  };
}

async function read(ports: MovePorts, name: string): Promise<Node | undefined> {
  try {
    return await ports.nodes.read(name);
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}
