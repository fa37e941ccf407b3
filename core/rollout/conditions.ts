/** Conditions of a PoolRollout, for `kubectl wait` and for tools that know no state by name. */

import { cut } from '../encoding/one-line';
import { fewNames } from '../few';
import type { Condition } from '../object-meta';
import { GRANTS_AT_MOST } from './pool-rollout';
import { RolloutState, type NamedReason } from './progress';

interface ConditionFacts {
  readonly state: RolloutState;
  readonly blocker?: string;
  /** `12/200`. */
  readonly done: string;
  readonly failed: readonly NamedReason[];
  readonly failedCount: number;
  /** As the pool allows it; more than `GRANTS_AT_MOST` are not given at once. */
  readonly maxUnavailable: number;
}

const MOVING: readonly RolloutState[] = [RolloutState.ROLLING, RolloutState.CANCELLING];
/** As the API allows. */
const MESSAGE_AT_MOST = 1000;

/**
 * `Progressing`, `Degraded` (nodes have failed on the config) and `GrantsLimited`.
 *
 * @param now - RFC 3339; when a condition changes its status
 */
export function conditionsOf(
  facts: ConditionFacts,
  before: readonly Condition[] = [],
  now: string,
): readonly Condition[] {
  return [progressing(facts), degraded(facts), limited(facts)].map((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    const isSame = known?.status === condition.status;
    const lastTransitionTime = isSame ? (known.lastTransitionTime ?? now) : now;
    return { ...condition, message: cut(condition.message, MESSAGE_AT_MOST), lastTransitionTime };
  });
}

function progressing({ state, blocker, done }: ConditionFacts): Condition {
  const status = MOVING.includes(state) ? 'True' : 'False';
  const message = blocker ?? `${done} nodes are on the config`;
  return { type: 'Progressing', status, reason: state, message };
}

function degraded({ failed, failedCount: total }: ConditionFacts): Condition {
  if (total === 0) {
    return { type: 'Degraded', status: 'False', reason: 'AsExpected', message: 'no node failed' };
  }
  const names = fewNames(
    failed.map(({ node }) => node),
    { total },
  );
  return { type: 'Degraded', status: 'True', reason: 'NodesFailed', message: `failed: ${names}` };
}

function limited({ maxUnavailable }: ConditionFacts): Condition {
  const type = 'GrantsLimited';
  if (maxUnavailable <= GRANTS_AT_MOST) {
    const message = 'maxUnavailable is used as it is';
    return { type, status: 'False', reason: 'AsExpected', message };
  }
  const message = `maxUnavailable allows ${maxUnavailable} nodes; at most ${GRANTS_AT_MOST} are out at once`;
  return { type, status: 'True', reason: 'TooManyForOneObject', message };
}
