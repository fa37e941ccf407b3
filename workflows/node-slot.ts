/** How a node update answers messages, and how it gets its slot from the rollout. */

import {
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setHandler,
} from '@temporalio/workflow';
import {
  attachSignal,
  preparedSignal,
  proceedSignal,
  statusQuery,
  type ChildState,
  type UpdateNodeInput,
} from './messages';
import type { NodeProgress } from './node-progress';
import { brief, REMIND_SECONDS } from './timeouts';

/** Registers every message of the update. Called before the first wait, so that none is missed. */
export function answerMessages(input: UpdateNodeInput, progress: NodeProgress): void {
  setHandler(statusQuery, () => progress.status(), {
    description: 'Phase of this update, since when, and what it waits for',
  });
  setHandler(
    proceedSignal,
    () => {
      progress.holdsSlot = true;
    },
    { description: 'From the pool rollout: the slot; this node may be made unavailable now' },
  );
  setHandler(
    attachSignal,
    ({ reportTo }) => {
      progress.reportTo = reportTo;
      sayPrepared(input, progress);
    },
    { description: 'From a new pool rollout that found this update running: report to it' },
  );
}

/**
 * Says that the node is prepared and waits for its slot. Says so again from time to time: the
 * rollout may have been lost in between, and another one must learn of this update.
 */
export async function waitForSlot(input: UpdateNodeInput, progress: NodeProgress): Promise<void> {
  progress.enter('WaitingForSlot', `a slot from ${progress.reportTo}`);
  while (!progress.holdsSlot) {
    sayPrepared(input, progress);
    await condition(() => progress.holdsSlot, `${REMIND_SECONDS}s`, {
      summary: brief(`waiting for a slot from ${progress.reportTo}`),
    });
  }
}

function sayPrepared(input: UpdateNodeInput, progress: NodeProgress): void {
  if (progress.phase === 'Finished') return;
  const { node, config } = input;
  const { holdsSlot, reportTo } = progress;
  getExternalWorkflowHandle(reportTo)
    .signal(preparedSignal, { node, config: config.name, holdsSlot, stage: stageOf(progress) })
    .catch((error: unknown) => {
      if (isCancellation(error)) return;
      log.warn('nobody listens for the slot', { reportTo, error });
      if (progress.phase !== 'WaitingForSlot') return;
      progress.enter('WaitingForSlot', `a slot, but ${reportTo} does not run; start the rollout`);
    });
}

function stageOf(progress: NodeProgress): ChildState['stage'] {
  if (progress.holdsSlot) return 'working';
  return progress.phase === 'Preparing' ? 'preparing' : 'waiting';
}
