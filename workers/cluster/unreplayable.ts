/** Ends a workflow that cannot continue from its history. */

import type { WorkerOptions } from '@temporalio/worker';

/**
 * It fails, and the controllers start another rollout within seconds, which adopts the nodes of
 * lost updates. By default its task would be retried for ever, visible only in the log.
 */
export const UNREPLAYABLE_FAILS: Pick<WorkerOptions, 'workflowFailureErrorTypes'> = {
  workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
};
