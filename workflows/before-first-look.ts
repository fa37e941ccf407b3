/**
 * What people ask of a rollout for one node before it knows to which config its pool is rolled. A node is held for a
 * config, and tried on one: said of none, it would be forgotten with the first look.
 */

import { condition } from '@temporalio/workflow';
import { type AcceptedWord, inASentence } from './accepted-words';
import { refuse } from './contracts/failures';
import { nonsense, refuseWhileEnding } from './requests';
import type { Rollout } from './rollout-state';
import { brief, ROLLOUT_LIMITS } from './contracts/timeouts';

/** What cannot be looked at in the time of such a step cannot be written in it either. */
const PATIENCE_SECONDS = ROLLOUT_LIMITS.holdNode.total;

export function isBeforeFirstLook({ config }: Rollout): boolean {
  return config === '';
}

/** @throws `RefusedRequest` when the rollout has looked, and there is none */
export function refuseWithoutConfig({ pool, view, config }: Rollout): void {
  if (view === undefined || config !== '') return;
  throw nonsense(
    `pool ${pool} has no rendered config that its nodes could be tried on or held for; ` +
      'see its RenderDegraded condition',
  );
}

/**
 * From that look on the word counts: it may find the node ready to start, or its update ready for its slot.
 *
 * @throws `ApiUnavailable` when no look succeeds in time; `RefusedRequest`
 */
export async function untilFirstLook(rollout: Rollout, word: AcceptedWord): Promise<void> {
  const { pool } = rollout;
  word.countsNow = true;
  // After one that has failed the next is due in a moment only.
  if (rollout.view === undefined) rollout.touch();
  const hasLooked = (): boolean => rollout.view !== undefined || rollout.ending !== undefined;
  const summary = brief(`waiting for the first look at pool ${pool}`);
  let isInTime;
  try {
    isInTime = await condition(hasLooked, `${PATIENCE_SECONDS}s`, { summary });
  } catch (error) {
    throw inASentence(error);
  }
  refuseWhileEnding(rollout);
  if (!isInTime) {
    const { viewProblem = 'it has not succeeded yet' } = rollout;
    throw refuse('ApiUnavailable', `look at pool ${pool}: ${viewProblem}`);
  }
  refuseWithoutConfig(rollout);
}
