import { isOnlyNode } from '../../core/drain';
import { fail } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import { annotationOf, isUnschedulable, unreadyCondition } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { isCordonedBySlipway } from '../../core/rollout';
import type {
  CheckCordonInput,
  ClusterActivities,
  DrainNodeInput,
  NodeStep,
} from '../../workflows/cluster-contracts';
import type { ClusterPorts } from '../ports';
import { orDeleted, refuseAnotherNode } from './known-node';
import { marked, refuseHeld } from './node-changes';
import { mustLeave } from './nothing-to-drain';
import { isSilent } from './silent-picture';

/**
 * Looks whether a drained node still has the cordon of its update, and whether it is still empty: a reboot would
 * end the pods that came since without asking any budget. Somebody may have uncordoned it while its host was
 * changed, and they are there also when that person has cordoned it again. Or the scheduler had chosen the node
 * before its cordon, and bound a pod to it only after its drain.
 */
export function createCheckCordon(ports: ClusterPorts): ClusterActivities['checkCordon'] {
  return async (input) => {
    const run = ports.run();
    const node = await fromMemoryOrNow(ports, input, (known) => {
      refuseToReboot(known, input, isOnlyNode(input.node, ports.view.nodes.list()));
    });
    const { drain, isGoingBack = false } = input;
    if (hasFallenOver(node, input)) return { isEmpty: true };
    const isThere = (await mustLeave(ports, { run, node: input.node, drain })) ?? !isGoingBack;
    return { isEmpty: !isThere };
  };
}

/**
 * The rule on the cordon.
 *
 * @param isOnly - it is the only node of the cluster, which its update does not cordon
 * @throws `UncordonedByUser`, `CordonedByUser`, `HeldByUser`
 */
export function refuseToReboot(node: Node, step: CheckCordonInput, isOnly = false): void {
  if (hasFallenOver(node, step)) return;
  refuseHeld(node, step);
  if (isOnly && !isUnschedulable(node)) return;
  refuseUncordoned(node, 'before its machine was rebooted');
  refuseCordonOfAnother(node, step);
}

/** Nothing runs well on a machine that fell over, and pods that its kubelet does not end are never gone. */
export function hasFallenOver(node: Node, { isGoingBack }: CheckCordonInput): boolean {
  return isGoingBack === true && unreadyCondition(node) !== undefined;
}

/**
 * Refuses to drain a node that this update does not have: what leaves an uncordoned one comes back, and a
 * step that comes late may meet the cordon of a person or of the next update.
 *
 * @throws `UncordonedByUser`, `CordonedByUser`, `HeldByUser`, `UpdateSuperseded`; `NodeDeleted` when the node is gone
 *   or is another one of the same name
 */
export async function refuseUnheld(
  ports: Pick<ClusterPorts, 'view' | 'nodes'>,
  step: DrainNodeInput,
): Promise<void> {
  await fromMemoryOrNow(ports, step, (node) => {
    refuseToDrain(node, step);
  });
}

/** The same, whatever a process that stood still remembers. */
export async function refuseUnheldNow(
  ports: Pick<ClusterPorts, 'nodes'>,
  step: DrainNodeInput,
): Promise<void> {
  await lookNow(ports, step, (node) => {
    refuseToDrain(node, step);
  });
}

/** The rule of both. */
export function refuseToDrain(node: Node, step: DrainNodeInput): void {
  // A drain writes no mark, but has to be let in like who does.
  marked(node, step, 'takes');
  refuseHeld(node, step);
  refuseUncordoned(node, 'while it was being drained');
  if (step.isGoingBack !== true) refuseCordonOfAnother(node, step);
}

/**
 * From memory when that shows nothing to refuse. What is to be seen was another activity's work, perhaps
 * in another process, so the watch may still be on its way to show it: then the API server is asked. So it is
 * when the watch has been silent for long.
 *
 * @returns the Node that shows nothing to refuse
 */
async function fromMemoryOrNow(
  ports: Pick<ClusterPorts, 'view' | 'nodes'>,
  step: NodeStep,
  refuse: (node: Node) => void,
): Promise<Node> {
  await ports.view.nodes.synced;
  const known = ports.view.nodes.get(step.node);
  if (known !== undefined && !isSilent(ports.view) && isFine(known, step, refuse)) return known;
  return lookNow(ports, step, refuse);
}

async function lookNow(
  { nodes }: Pick<ClusterPorts, 'nodes'>,
  step: NodeStep,
  refuse: (node: Node) => void,
): Promise<Node> {
  const node = await orDeleted(step.node, () => nodes.read(step.node));
  refuseAnotherNode(node, step);
  refuse(node);
  return node;
}

function isFine(known: Node, step: NodeStep, refuse: (node: Node) => void): boolean {
  try {
    refuseAnotherNode(known, step);
    refuse(known);
    return true;
  } catch {
    return false;
  }
}

function refuseUncordoned(node: Node, when: string): void {
  if (isUnschedulable(node)) return;
  const { name } = node.metadata;
  throw fail('UncordonedByUser', `node ${name} was uncordoned ${when}, and not by Slipway`, {
    node: name,
  });
}

function refuseCordonOfAnother(node: Node, { workflowId }: NodeStep): void {
  const isMarked = annotationOf(node, ANNOTATION.CORDONED_BY) === workflowId;
  if (isMarked && isCordonedBySlipway(node)) return;
  const { name } = node.metadata;
  throw fail('CordonedByUser', `node ${name} was cordoned anew, and not by its update`, {
    node: name,
  });
}
