import { setTimeout as delay } from 'node:timers/promises';
import type { RolloutActivities } from '../../../workflows/contracts/rollout';

const GAP_MS = 50;

/**
 * Folds words that come close together into one step: the first is not held up, and those that follow share the
 * next one.
 */
export function withGap(step: RolloutActivities['step']): RolloutActivities['step'] {
  const steppedAt = new Map<string, number>();
  return async (input) => {
    const rest = (steppedAt.get(input.pool) ?? -Infinity) + GAP_MS - performance.now();
    if (rest > 0) await delay(rest);
    steppedAt.set(input.pool, performance.now());
    return step(input);
  };
}
