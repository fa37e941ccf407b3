/**
 * What a rollout writes on its pool and its nodes on behalf of a person, beside what it does: nobody waits for it,
 * and no run ends before it is written.
 */

import { condition, log, patched } from '@temporalio/workflow';
import { isCancellation } from './failures';
import {
  forgetRolloutCancelled,
  forgetRolloutStarted,
  holdNode,
  markRolloutStarted,
} from './pool-steps';
import type { Rollout } from './rollout-state';

/** Rollouts that were begun before it forget a hold that could not be written down. */
export const HELD_AGAIN = 'holds-written-again';
/** Rollouts that were begun before it do not write on their pool that a person started them. */
const START_REMEMBERED = 'start-remembered-on-pool';

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
      if (isWanted && patched(HELD_AGAIN)) rollout.toHold.add(node);
      throw error;
    })
    .finally(() => {
      rollout.holding.delete(node);
    });
  aside(rollout, `the hold of node ${node}`, written);
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
  aside(rollout, 'the end of the cancellation', written);
}

/**
 * Of a pool that waits for a person, the pool itself remembers which config one has started: when Temporal loses
 * the rollout, nothing else would say that its nodes need another.
 */
export function rememberStart(rollout: Rollout): void {
  const { pool, config, view } = rollout;
  const isBehind = view !== undefined && view.updated < view.machineCount;
  if (!isBehind || view.policy.trigger !== 'Manual' || config === '') return;
  // One after the other: an earlier config must not arrive last.
  if (rollout.startedConfig() === config || rollout.isMarkingStart) return;
  if (!patched(START_REMEMBERED)) return;
  rollout.startedWritten = config;
  rollout.isMarkingStart = true;
  const written = markRolloutStarted(pool, config).finally(() => {
    rollout.isMarkingStart = false;
    rollout.touch();
  });
  aside(rollout, 'the start of the rollout', written);
}

/** Nodes that join or drift when all are done wait for a person again. */
export async function forgetStart(rollout: Rollout): Promise<void> {
  if (rollout.startedConfig() === '' || !patched(START_REMEMBERED)) return;
  rollout.writing = 'its pool to forget that it was started';
  await condition(() => !rollout.isMarkingStart);
  rollout.startedWritten = '';
  try {
    await forgetRolloutStarted(rollout.pool);
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('the end of the rollout is not written down', { error });
  } finally {
    rollout.writing = undefined;
  }
}

/** Writes something down without waiting for it; the run does not end before it is done. */
export function aside(rollout: Rollout, what: string, work: Promise<unknown>): void {
  rollout.writingAside += 1;
  work
    .catch((error: unknown) => log.warn(`${what} is not written down`, { error }))
    .finally(() => {
      rollout.writingAside -= 1;
    })
    .catch(() => undefined);
}
