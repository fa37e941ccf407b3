/** The two activities of a rollout, with their limits. */

import { proxyActivities } from '@temporalio/workflow';
import { withPerson } from '../../core/history/words';
import { CLUSTER_QUEUE, STEP_QUEUE } from '../../core/names';
import { PRIORITY } from '../contracts/priorities';
import { AWAITED, brief } from '../contracts/timeouts';
import type {
  RolloutActivities,
  SeenVersions,
  StepInput,
  StepResult,
  Word,
} from '../contracts/rollout';

/** Tried until it succeeds: what it fails for is seen as its pending activity. */
const steps = proxyActivities<Pick<RolloutActivities, 'step'>>({
  taskQueue: STEP_QUEUE,
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '5s' },
  priority: PRIORITY.rollout,
});

/** A person waits for it. */
const words = proxyActivities<Pick<RolloutActivities, 'writeWord'>>({
  taskQueue: CLUSTER_QUEUE,
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1m',
  retry: { initialInterval: '500ms', maximumInterval: '5s' },
});

/** Nobody waits for it, and forgotten it would be done anew. A start that is under way is not to undo a cancellation. */
const lasting = proxyActivities<Pick<RolloutActivities, 'writeWord'>>({
  taskQueue: CLUSTER_QUEUE,
  startToCloseTimeout: '10s',
  cancellationType: AWAITED,
  retry: { initialInterval: '500ms', maximumInterval: '20s' },
});

/** @param summary - what the step before has done, where no timer shows it */
export function step(input: StepInput, summary?: string): Promise<StepResult> {
  const shown = brief(summary ?? 'look, decide, grant, start');
  return steps.step.executeWithOptions({ summary: shown }, [input]);
}

export function writeWord(pool: string, word: Word): Promise<SeenVersions> {
  const isLasting = word.kind === 'start' || word.kind === 'cancel';
  const summary = brief(`write down: ${sentenceOf(word)}`);
  return (isLasting ? lasting : words).writeWord.executeWithOptions({ summary }, [{ pool, word }]);
}

function sentenceOf(word: Word): string {
  const about = 'node' in word ? ` ${word.node}` : '';
  const { reason } = word;
  const why = reason === undefined ? '' : ` (${withPerson({ ...word, reason })})`;
  return `${word.kind}${about}${why}`;
}
