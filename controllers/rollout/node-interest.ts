/** Changes of a Node that a rollout did not make itself. */

import { ANNOTATION, NodeState } from '../../core/names';
import {
  annotationOf,
  isDegraded,
  isUnschedulable,
  saysReady,
  unreadyCondition,
} from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { otherTaints } from '../../core/node/update-taint';
import {
  isControlPlane,
  isCordonedByPerson,
  isCordonedBySlipway,
  takesRoom,
} from '../../core/rollout';

/** `previous` is absent when the Node joined, `current` when it is gone. */
export interface NodeChange {
  readonly previous?: Node;
  readonly current?: Node;
}

/**
 * Undefined = the rollout need not know. A running update reports readiness and its own cordon, but
 * not the deletion of its node. A person's cordon is news: the update may be lost.
 */
export function newsFor({ previous, current }: NodeChange): string | undefined {
  if (current === undefined) {
    return previous === undefined ? undefined : `node ${previous.metadata.name} is gone`;
  }
  const { name } = current.metadata;
  if (previous === undefined) return `node ${name} joined`;
  if (isGoing(previous) !== isGoing(current)) return `node ${name} is being deleted`;
  if (!same(previous.metadata.labels, current.metadata.labels)) return `labels of node ${name}`;
  const isTurned = isUnschedulable(previous) !== isUnschedulable(current);
  const cordoned = `node ${name} was ${isUnschedulable(current) ? 'cordoned' : 'uncordoned'}`;
  if (isTurned && isByPerson(previous, current)) return cordoned;
  if (isBeingUpdated(previous) || isBeingUpdated(current)) return undefined;
  if (isTurned) return cordoned;
  if (readinessOf(previous) !== readinessOf(current)) return `readiness of node ${name}`;
  if (!same(taintsOf(previous), taintsOf(current))) return `taints of node ${name}`;
  if (!same(marksOf(previous), marksOf(current))) return `annotations of node ${name}`;
  return undefined;
}

/**
 * Changes of a control-plane node that rollouts of other pools wait for: it is back in service, or
 * their number changed. An update reports only to its own rollout.
 */
export function controlPlaneNewsFor({ previous, current }: NodeChange): string | undefined {
  const [was, is] = [previous, current].map((node) => node !== undefined && isControlPlane(node));
  if (was !== is) return 'the control plane has other nodes';
  if (is !== true || previous === undefined || current === undefined) return undefined;
  const isBack = takesRoom(previous) && !takesRoom(current);
  return isBack ? `control-plane node ${current.metadata.name} is back in service` : undefined;
}

/** An update that uncordons its node reports its end. */
function isByPerson(previous: Node, current: Node): boolean {
  if (isCordonedByPerson(previous) || isCordonedByPerson(current)) return true;
  return !isUnschedulable(current) && isBeingUpdated(current);
}

/** Cordoned by Slipway, or Working. The cordon of a failed update does not count. */
function isBeingUpdated(node: Node): boolean {
  const state = annotationOf(node, ANNOTATION.STATE);
  return (
    (isCordonedBySlipway(node) && !isDegraded(node)) ||
    state === NodeState.WORKING ||
    state === NodeState.REBOOTING
  );
}

function isGoing(node: Node): boolean {
  return node.metadata.deletionTimestamp !== undefined;
}

/** A node whose kubelet has never said that it is Ready counts as such, and is no candidate. */
function readinessOf(node: Node): string {
  const condition = unreadyCondition(node);
  if (condition !== undefined) return `${condition.type}=${condition.status}`;
  return saysReady(node) ? 'Ready' : 'unsaid';
}

/** Without Slipway's taint and those that follow cordon and readiness. */
function taintsOf(node: Node): readonly unknown[] {
  return otherTaints(node).filter(({ key }) => !key.startsWith('node.kubernetes.io/'));
}

/** Annotations that decide whether the node is a candidate. */
function marksOf(node: Node): readonly (string | undefined)[] {
  return [
    ANNOTATION.CURRENT_CONFIG,
    ANNOTATION.DESIRED_CONFIG,
    ANNOTATION.CURRENT_IMAGE,
    ANNOTATION.DESIRED_IMAGE,
    ANNOTATION.STATE,
    ANNOTATION.HELD_FOR,
  ].map((key) => annotationOf(node, key));
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
