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
} from '../../workflows/contracts/cluster';
import type { ClusterPorts } from './ports';
import { orDeleted, refuseAnotherNode } from './known-node';
import { marked, refuseHeld } from './node-changes';
import { mustLeave } from './nothing-to-drain';
import { showMeanwhile } from './show-meanwhile';
import { isSilent } from './silent-picture';

/**
 * Checks that a drained node is still cordoned by its update and still empty: a person may have
 * uncordoned it, or a late pod may have come, whose budget a reboot would ignore.
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
    if (isThere && !isGoingBack) await showMeanwhile(ports, input, 'Draining');
    return { isEmpty: !isThere };
  };
}

/**
 * @param isOnly - the only node of the cluster is not cordoned
 *
 * @throws `UncordonedByUser`, `CordonedByUser`, `HeldByUser`
 */
export function refuseToReboot(node: Node, step: CheckCordonInput, isOnly = false): void {
  if (hasFallenOver(node, step)) return;
  refuseHeld(node, step);
  if (isOnly && !isUnschedulable(node)) return;
  refuseUncordoned(node, 'before its machine was rebooted');
  refuseCordonOfAnother(node, step);
}

/** Pods on a machine that is down do not end, so they are not waited for. */
export function hasFallenOver(node: Node, { isGoingBack }: CheckCordonInput): boolean {
  return isGoingBack === true && unreadyCondition(node) !== undefined;
}

/**
 * Refuses to drain a node that this update does not hold: pods would return, or the cordon is of a
 * person or of the next update.
 *
 * @param look - `lookNow`, or as it is in memory
 * @throws `UncordonedByUser`, `CordonedByUser`, `HeldByUser`, `UpdateSuperseded`; `NodeDeleted`
 *   when the node is gone or is another one of the same name
 */
export async function refuseUnheld(
  ports: Pick<ClusterPorts, 'view' | 'nodes'>,
  step: DrainNodeInput,
  look = fromMemoryOrNow,
): Promise<void> {
  await look(ports, step, (node) => {
    refuseToDrain(node, step);
  });
}

export function refuseToDrain(node: Node, step: DrainNodeInput): void {
  // A drain writes no mark, but must have the turn.
  marked(node, step, 'takes');
  refuseHeld(node, step);
  refuseUncordoned(node, 'while it was being drained');
  if (step.isGoingBack !== true) refuseCordonOfAnother(node, step);
}

/**
 * Checks the cached Node. If that is refused, or may be old, checks a fresh read.
 *
 * @returns the Node that passes
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

/** Checks a fresh read: the cache may be old. */
export async function lookNow(
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
