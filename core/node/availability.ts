/**
 * Which nodes are out of service, and which take room, because of what the cluster shows. This is MCO's
 * `isUnavailable` with three corrections:
 *
 * - A Ready, schedulable node that reports a failure is in service, also when its disk drifted at
 *   rest (current and desired config agree). It takes no room; what stops a bad config is the
 *   failure threshold. MCO lets one drifted node block a pool of maxUnavailable 1.
 * - Every node counts once. MCO counts a cordoned node that failed on the target twice.
 * - A Ready, schedulable node without any config annotation is not adopted yet, and in service.
 *
 * A node that is being deleted counts as unavailable whatever it reports: it is about to go.
 */

import { ANNOTATION, FIELD_MANAGER } from '../names';
import {
  annotationOf,
  currentConfigOf,
  desiredConfigOf,
  isDegraded,
  isDone,
  isReady,
  isUnschedulable,
  unreadyCondition,
} from './predicates';
import type { Node } from './types';

/** Whether the node counts against `maxUnavailable` as far as it shows: it is out of service, or on its way to be. */
export function takesRoom(node: Node): boolean {
  return !isInService(node) || servesHalfDone(node);
}

/** Ready and schedulable, and not about to go. */
export function isInService(node: Node): boolean {
  return isReady(node) && !isBeingDeleted(node);
}

/**
 * An update has begun on the node, which serves all the same: its plan drains nothing, or somebody has put the
 * node back into service. While an update is at work on it, it may go down at any moment. If that was lost, the
 * node is as any other that serves, and whoever takes it up takes it out of service. Which of both, it does not show.
 */
export function servesHalfDone(node: Node): boolean {
  return isInService(node) && isAdopted(node) && !isDone(node) && !isDegraded(node);
}

/**
 * An update of ours has taken the node out of service: it is under its cordon, or not Ready while it is on its way to
 * another config. Every other one that is down went down by itself.
 */
export function isTakenOut(node: Node): boolean {
  const isOnItsWay = isAdopted(node) && !isDone(node) && !isDegraded(node);
  return isCordonedBySlipway(node) || (isOnItsWay && !isReady(node));
}

/**
 * Taken out by an update, or not Ready while it says that it failed: taking it up takes nothing out of service, and may
 * be what it needs. What a person has cordoned is left alone.
 */
export function isLeftUnavailable(node: Node): boolean {
  return isTakenOut(node) || (isDegraded(node) && isDownUncordoned(node));
}

function isDownUncordoned(node: Node): boolean {
  return !isUnschedulable(node) && !isReady(node);
}

/** Slipway, or MCO before it, has written a config annotation on the node. */
export function isAdopted(node: Node): boolean {
  return currentConfigOf(node) !== undefined || desiredConfigOf(node) !== undefined;
}

/**
 * Down, and nothing says what its machine is on: it is just joining, or its kubelet has registered it again
 * after its Node was deleted. The one is Ready in a moment, the other may never be by itself.
 */
export function isDownUnknown(node: Node): boolean {
  return !isBeingDeleted(node) && isDownUncordoned(node) && !isAdopted(node);
}

export function isBeingDeleted(node: Node): boolean {
  return node.metadata.deletionTimestamp !== undefined;
}

/**
 * Unschedulable, and it was Slipway that did it; a person may want it, too. The mark alone does not say so: it
 * outlives for a moment the cordon that a person takes away, and their next one is not ours.
 */
export function isCordonedBySlipway(node: Node): boolean {
  const isMarked = annotationOf(node, ANNOTATION.CORDONED_BY) !== undefined;
  const writers = cordonWriters(node);
  return isUnschedulable(node) && isMarked && (writers.length === 0 || writers.some(isOurs));
}

/** Unschedulable, and it was not Slipway, or not Slipway alone: hands off. */
export function isCordonedByPerson(node: Node): boolean {
  if (!isUnschedulable(node)) return false;
  return !isCordonedBySlipway(node) || !cordonWriters(node).every(isOurs);
}

/**
 * An update that writes what is so already becomes no manager of it; who applies it becomes one beside the others.
 */
function cordonWriters({ metadata }: Node): readonly (string | undefined)[] {
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:unschedulable'] !== undefined)
    .map(({ manager }) => manager);
}

/**
 * What the API server makes of the oldest when there are more than ten, and of all that was there when somebody
 * applies something to an object of which it had kept no writers.
 */
const UNKNOWN_WRITERS = ['ancient-changes', 'before-first-apply'] as const;

/** One that is not known is taken for ours. */
function isOurs(writer: string | undefined): boolean {
  const ours: readonly string[] = [FIELD_MANAGER.CLUSTER_WORKER, ...UNKNOWN_WRITERS];
  return writer === undefined || ours.includes(writer);
}

/** Why a node is out of service, in a few words that name what a person can act on. */
export function unavailability(node: Node): string | undefined {
  if (isBeingDeleted(node)) return `being deleted since ${node.metadata.deletionTimestamp}`;
  if (isCordonedByPerson(node)) return 'cordoned by a person';
  const condition = unreadyCondition(node);
  if (condition !== undefined) {
    const since =
      condition.lastTransitionTime === undefined ? '' : ` since ${condition.lastTransitionTime}`;
    const detail = condition.message || condition.reason;
    const name = condition.type === 'Ready' ? 'not Ready' : condition.type;
    return `${name}${since}${detail ? ` (${detail})` : ''}`;
  }
  if (isCordonedBySlipway(node)) {
    return `cordoned for its update by ${annotationOf(node, ANNOTATION.CORDONED_BY)}`;
  }
  return undefined;
}
