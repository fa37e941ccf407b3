/** When a rollout may go on in a new history, and how: its own would grow without an end. */

import { allHandlersFinished, condition, continueAsNew, patched } from '@temporalio/workflow';
import type { PoolRolloutInput, RolloutProgress } from './messages';
import type { Rollout } from './rollout-state';

/** As long as an update takes to close after its report. */
export const CLOSING_MS = 5_000;
/** Rollouts that were begun before it hand over as soon as all is said, however long that takes. */
const HANDS_OVER_IN_TIME = 'hands-over-in-time';
/** Rollouts that were begun before it wait for no longer when they could not hand over before. */
const HANDS_OVER_PATIENTLY = 'hands-over-patiently';
/** As long as a rollout that is about to go on in a new run looks at nothing, when it tries first. */
const HALF_SAID_MS = 15_000;
const HALF_SAID_AT_MOST_MS = 240_000;

/**
 * Goes on in a new history, once nothing is half said: no slot and no report is lost. What takes long to
 * be said keeps nobody waiting at first: the rollout goes on in this history, and tries again after its next look.
 */
export async function handOver(rollout: Rollout): Promise<void> {
  const summary = 'going on in a new run';
  await condition(() => isQuiet(rollout), CLOSING_MS, { summary });
  if (isMidSentence(rollout)) {
    if (!patched(HANDS_OVER_IN_TIME)) await condition(() => !isMidSentence(rollout));
    else {
      const patienceMs = patienceOf(rollout);
      try {
        const isSaid = await condition(() => !isHalfSaid(rollout), patienceMs, { summary });
        if (!isSaid) {
          rollout.handOversFailed += 1;
          return;
        }
      } finally {
        rollout.writing = undefined;
      }
    }
  }
  await continueAsNew<(input: PoolRolloutInput) => Promise<RolloutProgress>>({
    pool: rollout.pool,
    carry: rollout.carry(),
  });
}

/**
 * Where Temporal is slow, each look says more than is confirmed until the next one, and the history would grow
 * until no worker can replay it in the time of a workflow task. So each try that fails is followed by one that waits
 * for twice as long, and says for what. What is written for a person may take an hour: it is not waited for like this.
 */
function patienceOf(rollout: Rollout): number {
  const { handOversFailed, starting, sending, writingAside } = rollout;
  const isTelling = starting.size > 0 || sending > writingAside;
  if (handOversFailed === 0 || !isTelling || !patched(HANDS_OVER_PATIENTLY)) return HALF_SAID_MS;
  rollout.writing = 'Temporal to confirm what its updates were told, to go on in a new run';
  return Math.min(HALF_SAID_AT_MOST_MS, HALF_SAID_MS * 2 ** handOversFailed);
}

/** A start or a message that Temporal has not confirmed would be lost with this run. */
function isMidSentence({ starting, sending }: Rollout): boolean {
  return starting.size > 0 || sending > 0 || !allHandlersFinished();
}

/** The question which updates run is no such message: the next run asks it again. */
function isHalfSaid({ starting, sending, knows }: Rollout): boolean {
  return starting.size > 0 || sending > (knows === 'asking' ? 1 : 0) || !allHandlersFinished();
}

/** Nor is an event about to come that would make the server refuse the end of this run. */
export function isQuiet(rollout: Rollout): boolean {
  return !isMidSentence(rollout) && !rollout.isClosing();
}
