/** When a rollout may go on in a new history, and how: its own would grow without an end. */

import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { PoolRolloutInput, RolloutProgress } from './messages';
import type { Rollout } from './rollout-state';

/** As long as an update takes to close after its report. */
export const CLOSING_MS = 5_000;
/** As long as a rollout that is about to go on in a new run looks at nothing. */
const HALF_SAID_MS = 15_000;
/** Tries, about a quarter of an hour; then it goes on for one look all the same. */
const HELD_BACK_FOR = 45;

/**
 * Goes on in a new history, once nothing is half said: no slot and no report is lost. What takes long to
 * be said keeps nobody waiting at first: the rollout goes on in this history, and tries again after its next look.
 */
export async function handOver(rollout: Rollout): Promise<void> {
  // Its answer would be lost with this run, and so would each one after it: the next run is as short.
  if (rollout.isAskingSilent) return;
  const summary = 'going on in a new run';
  await condition(() => isQuiet(rollout), CLOSING_MS, { summary });
  if (isMidSentence(rollout)) {
    if (!(await condition(() => !isHalfSaid(rollout), HALF_SAID_MS, { summary }))) {
      holdBack(rollout);
      return;
    }
  }
  await continueAsNew<(input: PoolRolloutInput) => Promise<RolloutProgress>>({
    pool: rollout.pool,
    carry: rollout.carry(),
  });
}

/**
 * Where Temporal is slow, each look says more than is confirmed until the next one, and the history would grow
 * until no worker can replay it in the time of a workflow task. So nothing new is said until what was said is
 * confirmed; what has begun goes on. What is written for a person may take a day, and keeps nobody back.
 *
 * Decided here, and not at the next look: by then all may be confirmed, that look would say more, and the same
 * would begin again.
 */
function holdBack(rollout: Rollout): void {
  rollout.handOversFailed += 1;
  const isOver = rollout.handOversFailed % HELD_BACK_FOR === 0;
  const isTelling = rollout.starting.size > 0 || rollout.telling > 0;
  rollout.saysNothingNew = isTelling && !isOver;
  // A confirmation alone wakes nobody.
  if (rollout.saysNothingNew) rollout.touch();
}

/** A start or a message that Temporal has not confirmed would be lost with this run. */
function isMidSentence({ starting, isSaying }: Rollout): boolean {
  return starting.size > 0 || isSaying || !allHandlersFinished();
}

/** The question which updates run is no such message, nor is the mark of the start: the next run says it again. */
function isHalfSaid({ starting, telling, writingAside, knows, startMark }: Rollout): boolean {
  const saidAgain = (knows === 'asking' ? 1 : 0) + (startMark.isBeingWritten ? 1 : 0);
  return starting.size > 0 || telling > 0 || writingAside > saidAgain || !allHandlersFinished();
}

/** Nor is an event about to come that would make the server refuse the end of this run. */
export function isQuiet(rollout: Rollout): boolean {
  return !isMidSentence(rollout) && !rollout.isClosing();
}
