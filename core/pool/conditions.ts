/** Reads and sets conditions of objects; keeps their transition times. */

import type { Condition } from '../object-meta';
import type { NodeCondition, PoolCondition } from '../names';

/** A condition without its time, which is decided when it is set. */
export interface ConditionValue<Type extends string = PoolCondition> {
  readonly type: Type;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

export function isConditionTrue(
  conditions: readonly Condition[] | undefined,
  type: PoolCondition | NodeCondition,
): boolean {
  return (
    conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
  );
}

/**
 * Sets a condition. `lastTransitionTime` stays while the status stays; a condition keeps its place,
 * a new one goes to the end. Equal values return the same list, so that an unchanged status can be
 * recognised.
 *
 * @param now - RFC 3339
 * @see MCO pkg/apihelpers, SetMachineConfigPoolCondition (7ff337a4)
 */
export function setCondition(
  conditions: readonly Condition[],
  value: ConditionValue<string>,
  now: string,
): readonly Condition[] {
  const { type, status, reason = '', message = '' } = value;
  const before = conditions.find((condition) => condition.type === type);
  if (before?.status === status && before.reason === reason && before.message === message) {
    return conditions;
  }
  const lastTransitionTime =
    before?.status === status && before.lastTransitionTime !== undefined
      ? before.lastTransitionTime
      : now;
  const after: Condition = { type, status, reason, message, lastTransitionTime };
  return before === undefined
    ? [...conditions, after]
    : conditions.map((condition) => (condition === before ? after : condition));
}
