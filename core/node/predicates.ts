/**
 * Predicates of a node from its annotations and conditions, as in MCO. Slipway's own rule for nodes
 * that take room is in `core/rollout/`.
 *
 * @see MCO pkg/controller/common/layered_node_state.go (7ff337a4)
 */

import type { FailureName } from '../errors';
import { ANNOTATION, NodeState, SIMULATED_OS } from '../names';
import type { Node } from './types';

/** A node annotation; undefined when it is absent or empty, as in MCO. */
export function annotationOf(node: Node, key: string): string | undefined {
  const value = node.metadata.annotations?.[key];
  return value === '' ? undefined : value;
}

/** Undefined = no config was ever verified on the node. */
export function currentConfigOf(node: Node): string | undefined {
  return annotationOf(node, ANNOTATION.CURRENT_CONFIG);
}

export function desiredConfigOf(node: Node): string | undefined {
  return annotationOf(node, ANNOTATION.DESIRED_CONFIG);
}

/** The required status of each, when it is reported at all. */
const READY_CONDITIONS: Readonly<Record<string, string>> = {
  Ready: 'True',
  DiskPressure: 'False',
  NetworkUnavailable: 'False',
};

/**
 * Schedulable, and each reported condition of the three that count is good. A node without
 * conditions counts as ready; memory and process pressure do not count.
 */
export function isReady(node: Node): boolean {
  return !isUnschedulable(node) && unreadyCondition(node) === undefined;
}

export function isUnschedulable(node: Node): boolean {
  return node.spec?.unschedulable === true;
}

/** The first condition that makes the node unready, apart from its schedulability. */
export function unreadyCondition(
  node: Node,
): NonNullable<NonNullable<Node['status']>['conditions']>[number] | undefined {
  return node.status?.conditions?.find((condition) => {
    const wanted = Object.hasOwn(READY_CONDITIONS, condition.type)
      ? READY_CONDITIONS[condition.type]
      : undefined;
    return wanted !== undefined && condition.status !== wanted;
  });
}

/** No machine is behind it: a simulated host worker writes its files and simulates its reboots. */
export function isSimulated(node: Node): boolean {
  return node.status?.nodeInfo?.osImage === SIMULATED_OS;
}

/**
 * Its kubelet has reported Ready; `isReady` also accepts one that has reported nothing, as MCO
 * does.
 */
export function saysReady(node: Node): boolean {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True';
}

/** Current and desired config (and image, if either is set) agree, and the state is `Done`. */
export function isDone(node: Node): boolean {
  const current = currentConfigOf(node);
  return (
    current !== undefined &&
    current === desiredConfigOf(node) &&
    imagesAgree(node) &&
    annotationOf(node, ANNOTATION.STATE) === NodeState.DONE
  );
}

/** It failed to reach another config. */
export function isFailing(node: Node): boolean {
  return currentConfigOf(node) !== desiredConfigOf(node) && isDegraded(node);
}

/** The node reports a failure, of an update or because of drift. */
export function isDegraded(node: Node): boolean {
  const state = annotationOf(node, ANNOTATION.STATE);
  return state === NodeState.DEGRADED || state === NodeState.UNRECONCILABLE;
}

/** Failures of a machine that does not reach Temporal, or gets no config from the server. */
const WITHOUT_CONFIG: readonly FailureName[] = [
  'HostUnreachable',
  'ConfigFetchFailed',
  'ConfigForbidden',
];

/** Its update failed because its host did not answer, or got no config. */
export function failedWithoutConfig(node: Node): boolean {
  const reason = annotationOf(node, ANNOTATION.REASON) ?? '';
  return isDegraded(node) && WITHOUT_CONFIG.some((name) => reason.startsWith(`${name}: `));
}

/** Not ready, or on its way to another config without having failed. */
export function isUnavailable(node: Node): boolean {
  return !isReady(node) || (!isDone(node) && !isFailing(node));
}

/** Its desiredConfig is this rendered config, without a layered image. */
export function isTargetedAt(node: Node, config: string | undefined): boolean {
  return (
    (desiredConfigOf(node) ?? '') === (config ?? '') &&
    node.metadata.annotations?.[ANNOTATION.DESIRED_IMAGE] === undefined
  );
}

export function isUpdatedTo(node: Node, config: string | undefined): boolean {
  return isDone(node) && isTargetedAt(node, config);
}

function imagesAgree(node: Node): boolean {
  const current = node.metadata.annotations?.[ANNOTATION.CURRENT_IMAGE];
  const desired = node.metadata.annotations?.[ANNOTATION.DESIRED_IMAGE];
  return current === desired && current !== '';
}
