/**
 * PodDisruptionBudgets: which one covers a pod, whether it allows the eviction, and the sentence
 * for people.
 */

import type { LabelSelector, ObjectMeta } from '../object-meta';
import { compileSelector } from '../selectors';
import { judgePods, type DrainContext, type JudgedPod } from './filters';
import {
  isFinished,
  isReady,
  isTerminating,
  nameOf,
  ownerText,
  terminatingSince,
  type Pod,
} from './pods';

/** The fields of a `policy/v1` PodDisruptionBudget that decide about an eviction. */
export interface PodDisruptionBudget {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    /** Absent = covers no pod; empty = covers every pod of its namespace. */
    readonly selector?: LabelSelector;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  /** Absent until the disruption controller has processed it. */
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
  };
}

/**
 * The budgets that cover a pod: same namespace and matching selector.
 *
 * @see Kubernetes policy/v1, PodDisruptionBudgetSpec.selector
 */
export function budgetsOf(
  pod: Pod,
  budgets: readonly PodDisruptionBudget[],
): readonly PodDisruptionBudget[] {
  return budgets.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace &&
      spec?.selector !== undefined &&
      compileSelector(spec.selector).matches(pod.metadata.labels),
  );
}

/**
 * Why the Eviction API would refuse this pod now; undefined = it would not.
 *
 * Pods that do not run or are terminating need no budget. A pod that is not Ready may be evicted
 * when its budget says so, or when enough others are healthy. More than one budget is always
 * refused.
 *
 * @see Kubernetes pkg/registry/core/pod/storage/eviction.go
 */
export function evictionRefusal(
  pod: Pod,
  budgets: readonly PodDisruptionBudget[],
): string | undefined {
  if (isFinished(pod) || isTerminating(pod) || pod.status?.phase === 'Pending') return undefined;
  const [budget, ...others] = budgetsOf(pod, budgets);
  if (budget === undefined) return undefined;
  if (others.length > 0) {
    const names = [budget, ...others].map(nameOf).join(' and ');
    return `budgets ${names} both cover it, which evictions do not support`;
  }
  if (isReady(pod) || !letsUnhealthyGo(budget)) return budgetRefusal(budget);
  return undefined;
}

function budgetRefusal(budget: PodDisruptionBudget): string | undefined {
  const { status, metadata } = budget;
  if (status === undefined || (status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return `budget ${nameOf(budget)} is still being processed`;
  }
  const allowed = status.disruptionsAllowed ?? 0;
  return allowed > 0 ? undefined : `budget ${nameOf(budget)} allows 0 disruptions`;
}

function letsUnhealthyGo({ spec, status }: PodDisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const desired = status?.desiredHealthy ?? 0;
  return desired > 0 && (status?.currentHealthy ?? 0) >= desired;
}

/**
 * Names the pod that a drain waits for, with all that a person can act on: `waiting for pod
 * shop/cart-7f (budget shop/cart allows 0 disruptions; owner Deployment shop/cart)`.
 */
export function blockerOf(pod: Pod, budgets: readonly PodDisruptionBudget[]): string {
  const owner = ownerText(pod);
  const reasons = [
    evictionRefusal(pod, budgets) ?? leavingText(pod),
    owner === undefined ? 'no owner' : `owner ${owner}`,
  ];
  return `waiting for pod ${nameOf(pod)} (${reasons.join('; ')})`;
}

function leavingText(pod: Pod): string {
  const since = terminatingSince(pod);
  if (since === undefined) return 'eviction not yet accepted';
  const { finalizers = [] } = pod.metadata;
  const held = finalizers.length === 0 ? '' : `, held by finalizer ${finalizers.join(', ')}`;
  return `terminating since ${since}${held}`;
}

type PredictedReason = 'BudgetAllowsNothing' | 'SeveralBudgets' | 'Refused' | 'Unmanaged';

/** Something that would hold up a drain now, or be lost by it. */
interface PredictedBlocker {
  readonly reason: PredictedReason;
  /** `namespace/name`, for a single budget. */
  readonly budget?: string;
  /** `namespace/name`, sorted. */
  readonly pods: readonly string[];
  readonly sentence: string;
}

/**
 * Blockers of draining these pods, worst first: refusals of the drain itself, pods that their
 * budgets hold, then pods that nothing recreates.
 *
 * @param pods - of one node or of many
 */
export function predictBlockers(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
  context: DrainContext,
): readonly PredictedBlocker[] {
  const judged = judgePods(pods, context);
  const leaving = judged.filter(({ verdict }) => verdict === 'delete' || verdict === 'warn');
  return [
    ...refusals(judged),
    ...heldByBudget(
      leaving.map(({ pod }) => pod),
      budgets,
    ),
    ...lost(leaving),
  ];
}

function refusals(judged: readonly JudgedPod[]): readonly PredictedBlocker[] {
  return byText(
    judged.filter(({ verdict }) => verdict === 'refuse'),
    ({ findings }) => findings.at(-1)?.message,
    ({ pod }) => pod,
  ).map(([message, names]) => ({
    reason: 'Refused',
    pods: names,
    sentence: `${message}: ${names.join(', ')}`,
  }));
}

function heldByBudget(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): readonly PredictedBlocker[] {
  const held = byText(
    pods,
    (pod) => evictionRefusal(pod, budgets),
    (pod) => pod,
  );
  return held.map(([refusal, names]) => {
    const one = pods.find((pod) => nameOf(pod) === names[0]);
    const covering = one === undefined ? [] : budgetsOf(one, budgets);
    const [budget] = covering;
    const sentence = `${refusal}${budget === undefined ? '' : neverText(budget)}: ${names.join(', ')}`;
    return budget === undefined || covering.length > 1
      ? { reason: 'SeveralBudgets', pods: names, sentence }
      : { reason: 'BudgetAllowsNothing', budget: nameOf(budget), pods: names, sentence };
  });
}

/** A budget that requires every pod to be healthy never allows a disruption. */
function neverText({ status }: PodDisruptionBudget): string {
  const expected = status?.expectedPods ?? 0;
  const desired = status?.desiredHealthy ?? 0;
  return expected > 0 && desired >= expected
    ? ` and never will (it wants ${desired} of ${expected} pods healthy)`
    : '';
}

function lost(leaving: readonly JudgedPod[]): readonly PredictedBlocker[] {
  const pods = leaving
    .filter(({ findings }) => findings.some(({ reason }) => reason === 'Unmanaged'))
    .map(({ pod }) => nameOf(pod))
    .sort();
  if (pods.length === 0) return [];
  const sentence = `nothing recreates these pods elsewhere: ${pods.join(', ')}`;
  return [{ reason: 'Unmanaged', pods, sentence }];
}

/** Pod names, sorted, by a text that some entries have. */
function byText<T>(
  entries: readonly T[],
  textOf: (entry: T) => string | undefined,
  podOf: (entry: T) => Pod,
): readonly (readonly [text: string, pods: readonly string[]])[] {
  const groups = new Map<string, string[]>();
  for (const entry of entries) {
    const text = textOf(entry);
    if (text !== undefined) groups.set(text, [...(groups.get(text) ?? []), nameOf(podOf(entry))]);
  }
  return [...groups].map(([text, pods]) => [text, pods.sort()] as const);
}
