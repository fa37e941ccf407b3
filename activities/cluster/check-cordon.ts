import { fail } from '../../core/errors';
import { isUnschedulable } from '../../core/node/predicates';
import { isSameNode } from '../../core/rollout';
import type { ClusterActivities, NodeStep } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { orDeleted, refuseAnotherNode } from './known-node';

/**
 * Looks whether a drained node is still cordoned. Somebody may have uncordoned it while its host was
 * changed, and a reboot would end the pods that came since without asking any budget.
 */
export function createCheckCordon(ports: ClusterPorts): ClusterActivities['checkCordon'] {
  return (input) => refuseUncordoned(ports, input, 'before its machine was rebooted');
}

/**
 * From memory when that shows the cordon. It was another activity's, perhaps in another process, so the
 * watch may still be on its way to show it: then the API server is asked.
 *
 * @param when - for the message: `while it was being drained`
 * @throws `UncordonedByUser`; `NodeDeleted` when the node is gone or is another one of the same name
 */
export async function refuseUncordoned(
  { view, nodes }: Pick<ClusterPorts, 'view' | 'nodes'>,
  step: NodeStep,
  when: string,
): Promise<void> {
  const { node: name, uid } = step;
  await view.nodes.synced;
  const known = view.nodes.get(name);
  if (known !== undefined && isSameNode(known, uid) && isUnschedulable(known)) return;
  const node = await orDeleted(name, () => nodes.read(name));
  refuseAnotherNode(node, step);
  if (isUnschedulable(node)) return;
  throw fail('UncordonedByUser', `node ${name} was uncordoned ${when}, and not by Slipway`, {
    node: name,
  });
}
