/**
 * What to write on a Node at each step of its update. Plain functions from the Node as it is to the
 * fields to change, so that a step that was done already changes nothing.
 */

import { cut } from '../../core/encoding/one-line';
import { fail } from '../../core/errors';
import { ANNOTATION, NodeState } from '../../core/names';
import {
  annotationOf,
  currentConfigOf,
  isDegraded,
  isUnschedulable,
} from '../../core/node/predicates';
import { lastRunOf, laterMark, turnOf, type TurnStep } from '../../core/node/turn';
import type { Node } from '../../core/node/types';
import { hasUpdateTaint, otherTaints } from '../../core/node/update-taint';
import type { MachineConfigPool } from '../../core/pool/types';
import {
  isCordonedByPerson,
  isCordonedBySlipway,
  isDownUnknown,
  isInService,
  isLeftUnavailable,
  movedTo,
  unavailability,
} from '../../core/rollout';
import type {
  CordonNodeInput,
  NodeStep,
  ReleaseNodeInput,
} from '../../workflows/cluster-contracts';
import type { NodeChange } from '../ports';
import { refuseAnotherNode } from './known-node';

/** The `reason` annotation is cut as in MCO (pkg/daemon/writer.go, 7ff337a4). */
const MAX_REASON_LENGTH = 2000;

/**
 * Refuses a node that belongs to another pool: the slot that was given is one of this pool. Decided on
 * the very Node that is written, so that the other pool sees the node out of service as soon as it sees
 * it at all. One that goes back has no slot that could be of the wrong pool.
 *
 * @throws `NodeMoved`
 */
export function refuseMoved(
  node: Node,
  { pool, isGoingBack }: CordonNodeInput,
  pools: readonly MachineConfigPool[],
): void {
  if (isGoingBack === true) return;
  const { name } = node.metadata;
  const to = movedTo(node, pool, pools);
  if (to === undefined) return;
  throw fail('NodeMoved', `node ${name} belongs to ${to}, and no longer to pool ${pool}`, {
    node: name,
  });
}

/** A step, and the mark of another run that is known not to stand against it (`in-turn.ts`). */
export type Turned<Step extends Pick<NodeStep, 'run'> = Pick<NodeStep, 'run'>> = Step & {
  readonly outlived?: string;
};

/**
 * The mark of the run that writes now. It goes into the same PATCH as everything else, so that whoever
 * is faster makes the other one decide again.
 *
 * @throws `UpdateSuperseded` when it is not the turn of this run any more, `RefusedRequest` when a later Slipway
 *   wrote it
 */
export function marked(
  node: Node,
  { run, outlived }: Turned,
  step: TurnStep,
): Readonly<Record<string, string>> {
  const { name } = node.metadata;
  const mark = annotationOf(node, ANNOTATION.UPDATE_RUN);
  const later = laterMark(name, mark);
  if (later !== undefined) throw fail('RefusedRequest', later, { node: name });
  const turn = turnOf(mark, run, step, outlived);
  if (turn.ok) return { [ANNOTATION.UPDATE_RUN]: turn.mark };
  throw fail(
    'UpdateSuperseded',
    `update run ${run.id} may not write node ${name} any more: ${turn.reason}`,
    { node: name },
  );
}

/**
 * Targets the node and, if asked, cordons it under this update's name.
 *
 * @throws `CordonedByUser` when the node is cordoned and it was not Slipway; `HeldByUser` when a person has
 *   skipped it or cancelled its update, whoever gave the slot; `SlotNeeded` when the slot was given because an
 *   earlier update had left the node unavailable, and it is not so any more; `NodeDeleted` when it is another
 *   node of the same name; `UpdateSuperseded`
 */
export function cordonChange(node: Node, input: Turned<CordonNodeInput>): NodeChange | undefined {
  refuseAnotherNode(node, input);
  const mark = marked(node, input, 'takes');
  if (isCordonedByPerson(node)) {
    throw fail(
      'CordonedByUser',
      `node ${node.metadata.name} is cordoned, and not by Slipway; uncordon it to let it be updated`,
      { node: node.metadata.name },
    );
  }
  refuseHeld(node, input);
  const change = difference(node, {
    annotations: {
      ...mark,
      ...targeted(input.config),
      [ANNOTATION.STATE]: NodeState.WORKING,
      [ANNOTATION.REASON]: '',
      ...(input.cordon ? { [ANNOTATION.CORDONED_BY]: input.workflowId } : {}),
    },
    ...(input.cordon ? { unschedulable: true } : {}),
  });
  // A second attempt finds what the first one wrote. One that goes back has its slot.
  const isTaken = change !== undefined && input.isGoingBack !== true;
  if (isTaken && input.repair === true) refuseToRepair(node);
  return change;
}

/** @throws `SlotNeeded` when the slot is only good for what an update has left unavailable, and this is not so */
function refuseToRepair(node: Node): void {
  if (isLeftUnavailable(node) || isDownUnknown(node)) return;
  const what = isInService(node)
    ? 'is back in service'
    : `was left by no update (it is unavailable for another reason: ${unavailability(node) ?? 'unknown'})`;
  throw fail(
    'SlotNeeded',
    `node ${node.metadata.name} ${what}, so its update needs a slot of its own`,
    { node: node.metadata.name },
  );
}

/**
 * A retry clears the mark before it starts an update. One that goes back does what the person wants.
 *
 * @throws `HeldByUser` when a person has skipped the node, or cancelled its update
 */
export function refuseHeld(
  node: Node,
  { config, isGoingBack }: Pick<CordonNodeInput, 'config' | 'isGoingBack'>,
): void {
  if (isGoingBack === true || annotationOf(node, ANNOTATION.HELD_FOR) !== config) return;
  const { name } = node.metadata;
  const reason = annotationOf(node, ANNOTATION.HELD_REASON);
  const because = reason === undefined ? '' : ` (${reason})`;
  throw fail(
    'HeldByUser',
    `node ${name} is held for ${config}${because}; retry it to let it be updated`,
    { node: name },
  );
}

/**
 * The node is on its config, verified: say so, and uncordon it if the cordon was ours.
 *
 * @throws `NodeDeleted` when it is another node of the same name; `UpdateSuperseded`
 */
export function completeChange(node: Node, input: Turned<NodeStep>): NodeChange | undefined {
  refuseAnotherNode(node, input);
  const isHeldForThis = annotationOf(node, ANNOTATION.HELD_FOR) === input.config;
  return difference(node, {
    annotations: {
      ...marked(node, input, 'gives back'),
      ...provenOn(input.config),
      ...targeted(input.config),
      [ANNOTATION.STATE]: NodeState.DONE,
      [ANNOTATION.REASON]: '',
      ...(isHeldForThis ? { [ANNOTATION.HELD_FOR]: null, [ANNOTATION.HELD_REASON]: null } : {}),
      [ANNOTATION.CORDONED_BY]: null,
    },
    ...ownCordonLifted(node),
    ...updateTaintRemoved(node),
  });
}

/**
 * Compensation: what the Node says after an update that did not happen.
 *
 * @throws `NodeDeleted` when it is another node of the same name; `UpdateSuperseded`
 */
export function releaseChange(node: Node, input: Turned<ReleaseNodeInput>): NodeChange | undefined {
  refuseAnotherNode(node, input);
  const mark = marked(node, input, 'gives back');
  const wanted = releasedAs(node, input);
  if (wanted === undefined) return undefined;
  return difference(node, {
    ...wanted,
    annotations: { ...wanted.annotations, ...mark },
    ...(input.isTriedLater === true ? {} : updateTaintRemoved(node)),
  });
}

/** Undefined = the node stays as this update found it. */
function releasedAs(node: Node, input: ReleaseNodeInput): NodeChange | undefined {
  if (isOutOfService(node, input)) {
    return input.outcome === 'failed' ? outOfServiceChange(node, input) : leftChange(input);
  }
  if (!input.hostIsBack && input.outcome === 'cancelled') return undefined;
  const annotations =
    input.outcome === 'failed'
      ? { ...failedAnnotations(input), ...committedUnsaid(node, input) }
      : asBefore(node, input);
  return {
    annotations: { ...annotations, [ANNOTATION.CORDONED_BY]: null },
    ...ownCordonLifted(node),
  };
}

/**
 * A host that could not be taken back keeps its node out of service; an update that never had a slot, or was
 * refused to use it, takes none out, it only leaves the cordon of an earlier one where it is.
 */
export function isOutOfService(
  node: Node,
  { hostIsBack, untouched, run }: Pick<ReleaseNodeInput, 'hostIsBack' | 'untouched' | 'run'>,
): boolean {
  if (hostIsBack) return false;
  if (isCordonedBySlipway(node)) return true;
  return untouched !== true && (!isInService(node) || hasTaken(run, node));
}

/** Whether it was this run that took the node, and has not given it back; where nobody can tell, it was. */
function hasTaken(run: ReleaseNodeInput['run'], node: Node): boolean {
  const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
  return run === undefined || last === undefined || (last.id === run.id && !last.isOver);
}

/** A half changed host takes no new pods, also when its plan needed no drain. */
function outOfServiceChange(node: Node, input: ReleaseNodeInput): NodeChange {
  const isOurs = !isUnschedulable(node) || isCordonedBySlipway(node);
  const owner = isOurs ? input.workflowId : null;
  return {
    annotations: { ...failedAnnotations(input), [ANNOTATION.CORDONED_BY]: owner },
    unschedulable: true,
  };
}

/** What an earlier update has left half done names its reason, and keeps the config that it goes to. */
function leftChange(input: ReleaseNodeInput): NodeChange {
  return {
    annotations: {
      [ANNOTATION.STATE]: NodeState.DEGRADED,
      [ANNOTATION.REASON]: cut(input.reason, MAX_REASON_LENGTH),
    },
  };
}

/**
 * A host may have committed a config, and so proven it, for an update that was lost before it could say so on its
 * Node. Whoever gives back the node later says it: the host rests on that config, and nobody would look again.
 */
function committedUnsaid(
  node: Node,
  { hostIsOn, hostIsBack }: ReleaseNodeInput,
): NonNullable<NodeChange['annotations']> {
  const isUnsaid = hostIsOn !== undefined && hostIsOn !== currentConfigOf(node);
  return isUnsaid && hostIsBack ? provenOn(hostIsOn) : {};
}

/** A node that this update never targeted keeps what it says, also an earlier failure, while that is so. */
function asBefore(node: Node, input: ReleaseNodeInput): NonNullable<NodeChange['annotations']> {
  const current = currentConfigOf(node);
  const unsaid = committedUnsaid(node, input);
  const isNowOn = unsaid[ANNOTATION.CURRENT_CONFIG];
  if (isNowOn) return { ...unsaid, ...doneOn(isNowOn) };
  const isTargeted = annotationOf(node, ANNOTATION.DESIRED_CONFIG) === input.config;
  const isKnown = input.hostIsOn === current;
  if (!isTargeted && !(isKnown && saysHalfDone(node))) return {};
  // What was left on it was of another config, and is taken back.
  if (!isTargeted || current !== input.config || input.isProvenBack === true)
    return doneOn(current, annotationOf(node, ANNOTATION.CURRENT_IMAGE));
  if (annotationOf(node, ANNOTATION.STATE) !== NodeState.WORKING) return {};
  // A host that matches its config is never taken out of service for it, so this one does not.
  const reason = `${input.reason}; the node still does not match its config ${input.config}`;
  return {
    [ANNOTATION.STATE]: NodeState.DEGRADED,
    [ANNOTATION.REASON]: cut(reason, MAX_REASON_LENGTH),
  };
}

/** @param image - that MCO has built for a layered pool, and that the node is still on */
function doneOn(
  config: string | undefined,
  image?: string,
): NonNullable<NodeChange['annotations']> {
  return {
    [ANNOTATION.DESIRED_CONFIG]: config ?? null,
    [ANNOTATION.DESIRED_IMAGE]: image ?? null,
    [ANNOTATION.STATE]: config === undefined ? null : NodeState.DONE,
    [ANNOTATION.REASON]: '',
  };
}

/**
 * Told to run a config. An image that MCO has built for the node goes with the config before it.
 *
 * @see MCO LayeredNodeState.SetDesiredStateFromPool (7ff337a4)
 */
function targeted(config: string): NonNullable<NodeChange['annotations']> {
  return { [ANNOTATION.DESIRED_CONFIG]: config, [ANNOTATION.DESIRED_IMAGE]: null };
}

/** @see MCO pkg/daemon/writer.go, SetDone (7ff337a4) */
function provenOn(config: string): NonNullable<NodeChange['annotations']> {
  return { [ANNOTATION.CURRENT_CONFIG]: config, [ANNOTATION.CURRENT_IMAGE]: null };
}

/** On its way, or cordoned because its host is not back; by now it is back on what the node is on. */
function saysHalfDone(node: Node): boolean {
  const isWorking = annotationOf(node, ANNOTATION.STATE) === NodeState.WORKING;
  return isWorking || (isDegraded(node) && isCordonedBySlipway(node));
}

function failedAnnotations(input: ReleaseNodeInput): NonNullable<NodeChange['annotations']> {
  return {
    ...targeted(input.config),
    [ANNOTATION.STATE]: input.unreconcilable ? NodeState.UNRECONCILABLE : NodeState.DEGRADED,
    [ANNOTATION.REASON]: cut(input.reason, MAX_REASON_LENGTH),
  };
}

/** Marks the node as held for a config, or clears the mark. */
export function holdChange(
  node: Node,
  config: string,
  reason: string | undefined,
): NodeChange | undefined {
  return difference(node, {
    annotations: {
      [ANNOTATION.HELD_FOR]: reason === undefined ? null : config,
      [ANNOTATION.HELD_REASON]: reason === undefined ? null : cut(reason, MAX_REASON_LENGTH),
    },
    ...(reason === undefined ? {} : updateTaintRemoved(node)),
  });
}

/** The node is not the next to be drained any more. If it is again, the node controller says so. */
function updateTaintRemoved(node: Node): Pick<NodeChange, 'taints'> {
  return hasUpdateTaint(node) ? { taints: otherTaints(node) } : {};
}

/** One that a person wants, too, stays as theirs. */
function ownCordonLifted(node: Node): { readonly unschedulable?: false } {
  return isCordonedBySlipway(node) && !isCordonedByPerson(node) ? { unschedulable: false } : {};
}

/** What of a change is not so already; undefined = all of it is. */
function difference(node: Node, wanted: NodeChange): NodeChange | undefined {
  const annotations = Object.entries(wanted.annotations ?? {}).filter(
    ([key, value]) => (node.metadata.annotations?.[key] ?? null) !== value,
  );
  const isSchedulingDifferent =
    wanted.unschedulable !== undefined && wanted.unschedulable !== isUnschedulable(node);
  const { taints } = wanted;
  if (annotations.length === 0 && !isSchedulingDifferent && taints === undefined) return undefined;
  return {
    annotations: Object.fromEntries(annotations),
    ...(taints === undefined ? {} : { taints }),
    ...(isSchedulingDifferent && wanted.unschedulable !== undefined
      ? { unschedulable: wanted.unschedulable }
      : {}),
  };
}
