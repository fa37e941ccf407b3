/** How a node update answers messages, and how it gets its slot from the rollout. */

import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { poolRolloutId } from '../core/names';
import { isEnd } from '../core/node/lifecycle';
import { refuse } from './contracts/failures';
import {
  attachSignal,
  preparedSignal,
  proceedSignal,
  statusQuery,
  stoppingSignal,
  type ChildState,
  type Slot,
  type UpdateNodeInput,
} from './messages';
import type { NodeProgress } from './node-progress';
import { hear, readAttach, readProceed, readReason } from './signal-payloads';
import { brief, REMIND_SECONDS } from './contracts/timeouts';

/** Longer than a watch usually is behind. */
const RETURN_PAUSE = '1s';

/** Registers every message of the update. Called before the first wait, so that none is missed. */
export function answerMessages(input: UpdateNodeInput, progress: NodeProgress): void {
  setHandler(statusQuery, () => progress.status(), {
    description: 'Phase of this update, since when, and what it waits for',
  });
  hear(
    proceedSignal,
    readProceed,
    (slot) => {
      progress.slot = slot;
    },
    'From the pool rollout: the slot; this node may be made unavailable now',
  );
  hear(
    stoppingSignal,
    readReason,
    ({ reason }) => {
      // A person was there first.
      if (!CancellationScope.current().consideredCancelled) progress.stopReason = reason;
    },
    'From the pool rollout: it cancels this update in a moment, and why',
  );
  hear(
    attachSignal,
    readAttach,
    ({ reportTo }) => {
      // That of a pool that the node has left may have meant an earlier update of it, and this one hears it late.
      const isOther = reportTo !== poolRolloutId(input.pool);
      // Said by a rollout that was lost before it could do so.
      const isStopOfLost = !isOther && !CancellationScope.current().consideredCancelled;
      if (isStopOfLost) progress.stopReason = undefined;
      progress.attach(reportTo, isOther);
      sayPrepared(input, progress, { isAnswer: true, to: reportTo });
    },
    'From a new pool rollout that found this update running: report to it',
  );
}

/**
 * Says that the node is prepared and waits for its slot. Says so again from time to time: the
 * rollout may have been lost in between, and another one must learn of this update.
 *
 * @throws `RolloutGone` when no rollout took it up from one time to the next: none may ever come,
 *   because the pool went back to the config that the node is on
 */
export async function waitForSlot(input: UpdateNodeInput, progress: NodeProgress): Promise<Slot> {
  progress.enter('WaitingForSlot', `a slot from ${progress.reportTo}`);
  for (;;) {
    if (progress.slot !== undefined) return progress.slot;
    sayPrepared(input, progress);
    await condition(() => progress.slot !== undefined, `${REMIND_SECONDS}s`, {
      summary: brief(`waiting for a slot from ${progress.reportTo}`),
    });
    if (progress.slot === undefined && progress.isUnheard) {
      const { reportTo } = progress;
      throw refuse('RolloutGone', `nobody could give the slot: ${reportTo} does not run`);
    }
  }
}

/** Gives a slot back that is good for nothing any more; the next one comes after a while. */
export async function returnSlot(
  input: UpdateNodeInput,
  progress: NodeProgress,
  reason: string,
): Promise<void> {
  const { grantedAt } = progress.slot ?? {};
  progress.slot = undefined;
  progress.enter('WaitingForSlot', `another slot: ${reason}`);
  // The rollout looks at the cluster, too, and may be as much behind as it was.
  await sleep(RETURN_PAUSE, { summary: brief(`another slot: ${reason}`) });
  // Another rollout may have given one meanwhile, which is not the one that is returned.
  const which = grantedAt === undefined ? {} : { grantedAt };
  sayPrepared(input, progress, { returned: true, ...which });
}

interface Occasion {
  readonly returned?: true;
  readonly grantedAt?: string;
  /** A rollout has asked, and waits for it. */
  readonly isAnswer?: true;
  /** Who is told; absent = who gives the slot. */
  readonly to?: string;
}

/** Says how far the update is. Once it has ended, the report says that. */
function sayPrepared(
  input: UpdateNodeInput,
  progress: NodeProgress,
  { isAnswer, to = progress.reportTo, ...returned }: Occasion = {},
): void {
  // The report is the answer to whoever asks meanwhile.
  if (isEnd(progress.phase) || progress.said !== undefined) return;
  const { node, config, uid, triedAgain } = input;
  const { slot } = progress;
  const said = {
    ...{ node, config: config.name, holdsSlot: slot !== undefined, stage: stageOf(progress) },
    runId: workflowInfo().runId,
    ...(uid === undefined ? {} : { uid }),
    ...(triedAgain === undefined ? {} : { triedAgain }),
    ...returned,
  };
  const isOther = () => to !== progress.reportTo;
  const tell = () => getExternalWorkflowHandle(to).signal(preparedSignal, said);
  // A cancellation would take an answer back before it is sent.
  (isAnswer === true ? CancellationScope.nonCancellable(tell) : tell())
    .then(() => {
      if (!isOther()) progress.isUnheard = false;
    })
    .catch((error: unknown) => {
      if (isCancellation(error)) return;
      log.warn('nobody listens for the slot', { reportTo: to, error });
      if (isOther()) return;
      progress.isUnheard = true;
      if (progress.phase !== 'WaitingForSlot') return;
      progress.enter('WaitingForSlot', `a slot, but ${to} does not run; start the rollout`);
    });
}

function stageOf(progress: NodeProgress): ChildState['stage'] {
  if (progress.slot !== undefined) return 'working';
  return progress.phase === 'WaitingForSlot' ? 'waiting' : 'preparing';
}
