import { isOnlyNode } from '../../core/drain';
import type { DrainedNode, DrainNodeInput } from '../../workflows/contracts/cluster';
import type { ActivityRun, ClusterPorts } from './ports';
import { DrainPods } from './drain-pods';
import { missingDaemonSets } from './missing-daemon-sets';

/** A slower list is left to the drain, which names its blockers. */
const PATIENCE_MS = 2_000;

interface Look {
  /** Its clock counts from the start of the attempt. */
  readonly run: ActivityRun;
  readonly node: string;
  readonly drain: DrainNodeInput['drain'];
}

/**
 * Checks the pods of a cordoned node once. Reads only.
 *
 * @returns the outcome of its drain when no pod must leave, as on the only node of a cluster;
 *   undefined = a drain is needed, or it is not known
 */
export async function nothingToDrain(
  ports: ClusterPorts,
  look: Look,
): Promise<DrainedNode | undefined> {
  if (isOnlyNode(look.node, ports.view.nodes.list())) return { evicted: 0, left: 0 };
  const pods = await seenOnce(ports, look);
  return pods.isDone() ? { evicted: 0, left: pods.left() } : undefined;
}

/** @returns whether some pod must leave; undefined = not known */
export async function mustLeave(ports: ClusterPorts, look: Look): Promise<boolean | undefined> {
  if (isOnlyNode(look.node, ports.view.nodes.list())) return false;
  const pods = await seenOnce(ports, look);
  return pods.isListed ? !pods.isDone() : undefined;
}

async function seenOnce(ports: ClusterPorts, { run, node, drain }: Look): Promise<DrainPods> {
  const pods = new DrainPods(drain, 0, {
    node,
    isOnlyNode: () => isOnlyNode(node, ports.view.nodes.list()),
    budgets: () => ports.view.budgets.list(),
    missingDaemonSets: (found) => missingDaemonSets(ports.view, found),
    now: run.temporalNow,
  });
  const isListed = new AbortController();
  const signal = AbortSignal.any([run.signal, isListed.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const handler = {
    listed: (found: Parameters<DrainPods['listed']>[0]) => {
      pods.listed(found);
      isListed.abort();
    },
    changed: () => undefined,
  };
  if (!signal.aborted) await ports.pods.follow(node, handler, signal);
  return pods;
}
