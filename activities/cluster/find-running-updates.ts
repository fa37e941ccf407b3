import { observePool } from '../../core/rollout';
import type { ClusterActivities } from '../../workflows/contracts/cluster';
import type { ClusterPorts } from './ports';
import { inParallel } from '../../core/concurrency-limit';
import { membershipOf } from './pool-members';
import { whenSynced } from './when-synced';

const PARALLEL = 32;

type FindPorts = Pick<ClusterPorts, 'updates'> & {
  readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'>;
};

/**
 * Asks Temporal which node updates are open. Given nodes are asked for by workflow ID, which is
 * always current; visibility, which may lag, adds the rest.
 */
export function createFindRunningUpdates(
  ports: FindPorts,
): ClusterActivities['findRunningUpdates'] {
  const membersOf = membershipOf(ports);
  const behind = async (name: string): Promise<readonly string[]> => {
    await whenSynced([ports.view.pools, ports.view.nodes]);
    const pool = ports.view.pools.get(name);
    if (pool === undefined) return [];
    const nodes = membersOf(pool);
    const updated = new Set(observePool({ pool, nodes }).updated);
    return nodes.map(({ metadata }) => metadata.name).filter((node) => !updated.has(node));
  };

  return async ({ nodes, pool }) => {
    const found = new Set<string>(pool === undefined ? [] : await ports.updates.ofPool(pool));
    const asked = new Set([...nodes, ...(pool === undefined ? [] : await behind(pool))]);
    const unknown = [...asked].filter((node) => !found.has(node));
    await inParallel(unknown, PARALLEL, async (node) => {
      if (await ports.updates.isRunning(node)) found.add(node);
    });
    return [...found].sort();
  };
}
