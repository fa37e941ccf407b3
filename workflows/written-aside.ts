/**
 * What a rollout writes on its pool and its nodes on behalf of a person, beside what it does: nobody waits for it,
 * and no run ends before it is written.
 */

import { condition, log } from '@temporalio/workflow';
import {
  forgetRolloutCancelled,
  forgetRolloutStarted,
  holdNode,
  markRolloutCancelled,
  markRolloutStarted,
} from './pool-steps';
import type { Rollout } from './rollout-state';

/** Somebody cancelled the update in Temporal itself: that is a decision, so it is written down. */
export function hold(rollout: Rollout, node: string): void {
  rollout.toHold.delete(node);
  const reason = rollout.heldByUs.get(node);
  if (reason === undefined) return;
  rollout.holding.add(node);
  const written = holdNode(rollout, node, reason)
    .catch((error: unknown) => {
      // Said again after the next look, by this run or by the next one, and once more at its end.
      const isWanted = rollout.heldByUs.get(node) === reason;
      if (isWanted) rollout.toHold.add(node);
      throw error;
    })
    .finally(() => {
      rollout.holding.delete(node);
    });
  aside(rollout, `the hold of node ${node} is not written down`, written);
}

/** That a person has cancelled the rollout: of its config, or of the one that the pool has where it knows none. */
export async function rememberCancellation(rollout: Rollout): Promise<void> {
  const { pool, config } = rollout;
  try {
    // An attempt to forget the one before may be under way.
    await condition(() => !rollout.isForgetting);
    await markRolloutCancelled(pool, config);
  } catch (error) {
    log.error('the cancellation is not remembered on the pool', { pool, error });
  }
}

/** The look that it began with may have been older than the word of the rollout before. */
export function seemsCancelled({ view, knows }: Rollout): boolean {
  return view?.cancelledConfig !== undefined && knows === 'all';
}

/** A rollout that runs is not cancelled, whoever started it. */
export function forgetCancellation(rollout: Rollout): void {
  const { pool, view } = rollout;
  if (view?.cancelledConfig === undefined || rollout.isForgetting) return;
  rollout.isForgetting = true;
  const written = forgetRolloutCancelled(pool).finally(() => {
    rollout.isForgetting = false;
  });
  aside(rollout, 'the end of the cancellation is not written down', written);
}

/**
 * Of a pool that waits for a person, the pool itself remembers which config one has started: when Temporal loses
 * the rollout, nothing else would say that its nodes need another.
 */
export function rememberStart(rollout: Rollout): void {
  const { pool, config, view, startMark } = rollout;
  const isBehind = view !== undefined && view.updated < view.machineCount;
  if (!isBehind || view.policy.trigger !== 'Manual' || config === '') return;
  // One that could not be written is written again after a later look, by this run or by the next one.
  if (startMark.over(view) === config) return;
  const written = startMark.say(config, () => markRolloutStarted(pool, config));
  aside(rollout, 'the start of the rollout is not written down', written);
}

/**
 * Nodes that join or drift when all are done wait for a person again.
 *
 * @returns false when something was heard before that is written
 */
export async function forgetStart(rollout: Rollout): Promise<boolean> {
  const { pool, view, startMark, changes } = rollout;
  if (startMark.over(view) !== '') {
    const written = startMark.say('', () => forgetRolloutStarted(pool));
    aside(rollout, 'the end of the rollout is not written down', written);
  }
  if (!startMark.isBeingWritten) return true;
  rollout.writing = 'its pool to forget that it was started';
  try {
    // The pool may refuse it for a day, and another config must not wait for that.
    await condition(() => !startMark.isBeingWritten || rollout.changes !== changes);
  } finally {
    rollout.writing = undefined;
  }
  return rollout.changes === changes;
}

/**
 * Writes or asks something without waiting for it; the run does not end before it is done.
 *
 * @param problem - the sentence for the log when it fails
 */
export function aside(rollout: Rollout, problem: string, work: Promise<unknown>): void {
  rollout.writingAside += 1;
  work
    .catch((error: unknown) => log.warn(problem, { error }))
    .finally(() => {
      rollout.writingAside -= 1;
    })
    .catch(() => undefined);
}
