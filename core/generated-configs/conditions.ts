/**
 * The conditions of a KubeletConfig or ContainerRuntimeConfig: a history of outcomes. Outcomes of
 * the same message count as one.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_controller.go (7ff337a4),
 *   syncStatusOnly, cleanUpStatusConditions
 */

import type { OriginCondition, OriginKind } from './types';

/** Outcomes that are kept. */
const MOST = 3;

const ACCEPTED = 'Accepted';
const SUCCESS = 'Success';
const FAILURE = 'Failure';

/** `problem` is undefined when the MachineConfigs are written. */
export interface Outcome {
  readonly problem?: string | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** Equal to the given list, times left out, when nothing is new. */
export function recordOutcome(
  kind: OriginKind,
  conditions: readonly OriginCondition[],
  { problem, now }: Outcome,
): readonly OriginCondition[] {
  const message = problem === undefined ? SUCCESS : `Error: ${problem}`;
  const legacy: OriginCondition = {
    type: problem === undefined ? SUCCESS : FAILURE,
    status: 'True',
    message,
    lastTransitionTime: now,
  };
  if (!kind.hasAccepted) return withOutcome(conditions, legacy);
  const history = conditions.filter(({ type }) => type !== SUCCESS && type !== FAILURE);
  const accepted: OriginCondition = {
    type: ACCEPTED,
    status: problem === undefined ? 'True' : 'False',
    message,
    lastTransitionTime: now,
  };
  return [...newest(withOutcome(history, accepted)), legacy];
}

/** The newest three. */
export function newest<T>(history: readonly T[]): readonly T[] {
  return history.slice(-MOST);
}

/** Appended, unless the last one says the same. */
export function withOutcome(
  history: readonly OriginCondition[],
  outcome: OriginCondition,
): readonly OriginCondition[] {
  const last = history.at(-1);
  if (last === undefined || last.message !== outcome.message) return [...history, outcome];
  const { lastTransitionTime = '' } = outcome;
  return [...history.slice(0, -1), { ...last, lastTransitionTime }];
}

export function isSameHistory(
  a: readonly OriginCondition[],
  b: readonly OriginCondition[],
): boolean {
  return (
    a.length === b.length &&
    a.every(({ type, status, message }, i) => {
      const other = b[i];
      return other?.type === type && other.status === status && other.message === message;
    })
  );
}
