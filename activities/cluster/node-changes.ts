/**
 * The changes of a Node at each step of its update: plain functions to the fields to change. A
 * finished step changes nothing.
 */

import { cut } from '../../core/encoding/one-line';
import { fail } from '../../core/errors';
import { withHistory, type UpdateEnd } from '../../core/history/updates';
import { ANNOTATION, NodeState } from '../../core/names';
import {
  annotationOf,
  currentConfigOf,
  isDegraded,
  isUnschedulable,
} from '../../core/node/predicates';
import { taintsOfCordon } from '../../core/node/cordon-taint';
import { lastRunOf, laterMark, turnOf, type TurnStep } from '../../core/node/turn';
import type { Node } from '../../core/node/types';
import { hasUpdateTaint, otherTaints } from '../../core/node/update-taint';
import { isCordonedByPerson, isCordonedBySlipway } from '../../core/rollout';
import type {
  CordonAgainInput,
  NodeStep,
  ReleaseNodeInput,
  TakeOutInput,
} from '../../workflows/contracts/cluster';
import type { NodeChange } from './ports';
import { refuseAnotherNode } from './known-node';

/** As in MCO (pkg/daemon/writer.go, 7ff337a4). */
export const MAX_REASON_LENGTH = 2000;

export type Cordoning = TakeOutInput | CordonAgainInput;

/** A step, and the mark of another run that is overruled (`in-turn.ts`). */
export type Turned<Step extends Pick<NodeStep, 'run'> = Pick<NodeStep, 'run'>> = Step & {
  readonly outlived?: string;
};

/**
 * The mark of the writing run, and the history. They are in the same PATCH, so that the slower of two
 * writers decides again.
 *
 * @throws `UpdateSuperseded` when this run no longer has the turn, `LaterVersion` when a later
 *   Slipway wrote the mark
 */
export function marked(
  node: Node,
  update: Turned<NodeStep>,
  step: TurnStep,
  end?: UpdateEnd,
): Readonly<Record<string, string>> {
  const { run, outlived } = update;
  const { name } = node.metadata;
  const mark = annotationOf(node, ANNOTATION.UPDATE_RUN);
  const later = laterMark(name, mark);
  if (later !== undefined) throw fail('LaterVersion', later, { node: name });
  const turn = turnOf(mark, run, step, outlived);
  if (turn.ok) return { [ANNOTATION.UPDATE_RUN]: turn.mark, ...withHistory(node, update, end) };
  throw fail(
    'UpdateSuperseded',
    `update run ${run.id} may not write node ${name} any more: ${turn.reason}`,
    { node: name },
  );
}

/**
 * Targets the node and, if requested, cordons it in the name of this update.
 *
 * @throws `CordonedByUser` when the node has a cordon that is not Slipway's; `HeldByUser` when a
 *   person has skipped it or cancelled its update; `NodeDeleted` when it is another node of the same
 *   name; `UpdateSuperseded`
 */
export function cordonChange(node: Node, input: Turned<Cordoning>): NodeChange | undefined {
  refuseAnotherNode(node, input);
  const mark = marked(node, input, 'takes');
  if (isCordonedByPerson(node)) {
    throw fail(
      'CordonedByUser',
      `node ${node.metadata.name} is cordoned, and not by Slipway; uncordon it to let it be updated`,
      { node: node.metadata.name },
    );
  }
  return difference(node, {
    annotations: {
      ...mark,
      ...targeted(input.config),
      [ANNOTATION.STATE]: NodeState.WORKING,
      [ANNOTATION.REASON]: '',
      ...(input.cordon ? { [ANNOTATION.CORDONED_BY]: input.workflowId } : {}),
    },
    ...(input.cordon ? { unschedulable: true } : {}),
  });
}

interface HoldableStep extends Pick<NodeStep, 'config' | 'takesBack'> {
  readonly isGoingBack?: boolean;
}

/**
 * A retry clears the mark before its update. A rollback is never refused, because the person wants
 * it.
 *
 * @throws `HeldByUser` when a person has skipped the node, or cancelled its update
 */
export function refuseHeld(node: Node, { config, isGoingBack, takesBack }: HoldableStep): void {
  if (isGoingBack === true || takesBack === true) return;
  if (annotationOf(node, ANNOTATION.HELD_FOR) !== config) return;
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
 * Records the verified config, and removes Slipway's cordon.
 *
 * @throws `NodeDeleted` when it is another node of the same name; `UpdateSuperseded`
 */
export function completeChange(
  node: Node,
  input: Turned<NodeStep>,
  now: string,
): NodeChange | undefined {
  refuseAnotherNode(node, input);
  const isHeldForThis = annotationOf(node, ANNOTATION.HELD_FOR) === input.config;
  return difference(node, {
    annotations: {
      ...marked(node, input, 'gives back', { outcome: 'updated', now }),
      ...provenOn(input.config),
      ...targeted(input.config),
      [ANNOTATION.STATE]: NodeState.DONE,
      [ANNOTATION.REASON]: '',
      ...(isHeldForThis ? { [ANNOTATION.HELD_FOR]: null, [ANNOTATION.HELD_REASON]: null } : {}),
      [ANNOTATION.RETRY_FOR]: null,
      [ANNOTATION.DRAIN_TIMED_OUT]: null,
      [ANNOTATION.CORDONED_BY]: null,
    },
    ...ownCordonLifted(node),
    ...updateTaintRemoved(node),
  });
}

/**
 * Compensation: the Node after an update that did not happen.
 *
 * @throws `NodeDeleted` when it is another node of the same name; `UpdateSuperseded`
 */
export function releaseChange(
  node: Node,
  input: Turned<ReleaseNodeInput>,
  now: string,
): NodeChange | undefined {
  refuseAnotherNode(node, input);
  const { outcome, reason } = input;
  const end = { outcome, reason, isStuck: isOutOfService(node, input), now };
  const mark = marked(node, input, 'gives back', end);
  const wanted = releasedAs(node, input);
  return difference(node, {
    ...wanted,
    annotations: { ...wanted?.annotations, ...nextTry(input, now), ...mark },
    ...(input.isTriedLater === true ? {} : updateTaintRemoved(node)),
  });
}

/** When the node is tried again. A try that a person asked for has ended with its failure. */
function nextTry(
  { config, outcome, reason, holds, isTriedLater }: ReleaseNodeInput,
  now: string,
): NonNullable<NodeChange['annotations']> {
  if (isTriedLater === true) return { [ANNOTATION.DRAIN_TIMED_OUT]: now };
  if (holds === true) return heldFor(config, reason);
  return outcome === 'failed' ? { [ANNOTATION.RETRY_FOR]: null } : {};
}

function heldFor(config: string, reason: string): NonNullable<NodeChange['annotations']> {
  return {
    [ANNOTATION.HELD_FOR]: config,
    [ANNOTATION.HELD_REASON]: cut(reason, MAX_REASON_LENGTH),
    [ANNOTATION.RETRY_FOR]: null,
  };
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
 * A host that could not be rolled back keeps its node out of service. An update that never had the
 * node only keeps an earlier cordon.
 */
export function isOutOfService(
  node: Node,
  { hostIsBack, run }: Pick<ReleaseNodeInput, 'hostIsBack' | 'run'>,
): boolean {
  return !hostIsBack && (isCordonedBySlipway(node) || hasTaken(run, node));
}

export function hasTaken(run: ReleaseNodeInput['run'], node: Node): boolean {
  const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
  return last?.id === run.id && !last.isOver;
}

/** A partly changed host takes no new pods, also when its plan needed no drain. */
function outOfServiceChange(node: Node, input: ReleaseNodeInput): NodeChange {
  const isOurs = !isUnschedulable(node) || isCordonedBySlipway(node);
  const owner = isOurs ? input.workflowId : null;
  return {
    annotations: { ...failedAnnotations(input), [ANNOTATION.CORDONED_BY]: owner },
    unschedulable: true,
  };
}

/** A node of a lost update gets that reason, and keeps its target. */
function leftChange(input: ReleaseNodeInput): NodeChange {
  return {
    annotations: {
      [ANNOTATION.STATE]: NodeState.DEGRADED,
      [ANNOTATION.REASON]: cut(input.reason, MAX_REASON_LENGTH),
    },
  };
}

/**
 * The host has committed a config for an update that was lost before its Node showed it. Nobody
 * checks it later, so this activity records it.
 */
function committedUnsaid(
  node: Node,
  { hostIsOn, hostIsBack }: ReleaseNodeInput,
): NonNullable<NodeChange['annotations']> {
  const isUnsaid = hostIsOn !== undefined && hostIsOn !== currentConfigOf(node);
  return isUnsaid && hostIsBack ? provenOn(hostIsOn) : {};
}

/** A node that was never targeted keeps its annotations, also those of an earlier failure. */
function asBefore(node: Node, input: ReleaseNodeInput): NonNullable<NodeChange['annotations']> {
  const current = currentConfigOf(node);
  const unsaid = committedUnsaid(node, input);
  const isNowOn = unsaid[ANNOTATION.CURRENT_CONFIG];
  if (isNowOn) return { ...unsaid, ...doneOn(isNowOn) };
  const isTargeted = annotationOf(node, ANNOTATION.DESIRED_CONFIG) === input.config;
  const isKnown = input.hostIsOn === current;
  if (!isTargeted && !(isKnown && saysHalfDone(node))) return {};
  // The remains were of another config, and are rolled back.
  if (!isTargeted || current !== input.config || input.isProvenBack === true)
    return doneOn(current, annotationOf(node, ANNOTATION.CURRENT_IMAGE));
  if (annotationOf(node, ANNOTATION.STATE) !== NodeState.WORKING) return {};
  // Drift alone takes no node out of service.
  const reason = `${input.reason}; the node still does not match its config ${input.config}`;
  return {
    [ANNOTATION.STATE]: NodeState.DEGRADED,
    [ANNOTATION.REASON]: cut(reason, MAX_REASON_LENGTH),
  };
}

/** @param image - built by MCO for a layered pool; the node is still on it */
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
 * The image that MCO built for the node belongs to the config before.
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

/** Working, or cordoned because its host was not rolled back. */
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

/** If the node is next to be drained again, the node controller adds the taint. */
function updateTaintRemoved(node: Node): Pick<NodeChange, 'taints'> {
  return hasUpdateTaint(node) ? { taints: otherTaints(node) } : {};
}

function ownCordonLifted(node: Node): { readonly unschedulable?: false } {
  return isCordonedBySlipway(node) && !isCordonedByPerson(node) ? { unschedulable: false } : {};
}

function difference(node: Node, wanted: NodeChange): NodeChange | undefined {
  const annotations = Object.entries(wanted.annotations ?? {}).filter(
    ([key, value]) => (node.metadata.annotations?.[key] ?? null) !== value,
  );
  const scheduling = schedulingChange(node, wanted);
  if (annotations.length === 0 && Object.keys(scheduling).length === 0) return undefined;
  return { annotations: Object.fromEntries(annotations), ...scheduling };
}

function schedulingChange(
  node: Node,
  { unschedulable, taints }: NodeChange,
): Pick<NodeChange, 'unschedulable' | 'taints'> {
  if (unschedulable === undefined || unschedulable === isUnschedulable(node)) {
    return taints === undefined ? {} : { taints };
  }
  const known = node.spec?.taints ?? [];
  const wanted = taintsOfCordon(taints ?? known, unschedulable);
  return { unschedulable, ...(wanted === known ? {} : { taints: wanted }) };
}
