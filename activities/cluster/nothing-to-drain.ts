import { controllerOf, DrainPods, isOnlyNode, type Pod } from '../../core/drain';
import type { DrainedNode, DrainNodeInput } from '../../workflows/contracts/cluster';
import type { ActivityRun, ClusterPorts } from './ports';

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
  const pods = await seenOnce(ports, look);
  return pods.isDone() ? { evicted: 0, left: pods.left() } : undefined;
}

/** @returns whether some pod must leave; undefined = not known */
export async function mustLeave(ports: ClusterPorts, look: Look): Promise<boolean | undefined> {
  const pods = await seenOnce(ports, look);
  if (pods.isDone()) return false;
  return pods.isListed ? true : undefined;
}

/** None is known yet. */
export function drainPodsOf(
  { view }: Pick<ClusterPorts, 'view'>,
  { run, node, drain }: Look,
  evictedBefore = 0,
): DrainPods {
  return new DrainPods(drain, evictedBefore, {
    node,
    isOnlyNode: () => isOnlyNode(node, view.nodes.list()),
    budgets: () => view.budgets.list(),
    missingDaemonSets: (pods) => missingDaemonSets(view, pods),
    now: run.temporalNow,
  });
}

/** DaemonSets, as `namespace/name`, that own one of these pods and are deleted. */
function missingDaemonSets(
  { daemonSets }: Pick<ClusterPorts['view'], 'daemonSets'>,
  pods: readonly Pod[],
): readonly string[] {
  return pods.flatMap((pod) => {
    const owner = controllerOf(pod);
    const { namespace = '' } = pod.metadata;
    if (owner?.kind !== 'DaemonSet') return [];
    const isThere = daemonSets.get(owner.name, namespace) !== undefined;
    return isThere ? [] : [`${namespace}/${owner.name}`];
  });
}

async function seenOnce(ports: ClusterPorts, look: Look): Promise<DrainPods> {
  const { run, node } = look;
  const pods = drainPodsOf(ports, look);
  // On the only node, whatever is there stays.
  if (pods.isDone()) return pods;
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
