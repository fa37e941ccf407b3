import type { ClusterActivities } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { inParallel } from './in-parallel';

/** Requests to Temporal at once. */
const PARALLEL = 16;

/** Asks Temporal which node updates are open. Reads only. */
export function createFindRunningUpdates(
  ports: ClusterPorts,
): ClusterActivities['findRunningUpdates'] {
  return async ({ nodes, pool }) => {
    const found = new Set<string>(pool === undefined ? [] : await ports.updates.ofPool(pool));
    const unknown = nodes.filter((node) => !found.has(node));
    await inParallel(unknown, PARALLEL, async (node) => {
      if (await ports.updates.isRunning(node)) found.add(node);
    });
    return [...found].sort();
  };
}
