/** What becomes of a workflow that cannot go on from its history. */

import type { WorkerOptions } from '@temporalio/worker';

/**
 * It fails, and is taken up anew: the controllers start another rollout within seconds, which finds the
 * nodes of lost updates as it does after a loss of Temporal's database. By default its task would be tried
 * for ever, and nobody would hear of it but in the log.
 */
export const UNREPLAYABLE_FAILS: Pick<WorkerOptions, 'workflowFailureErrorTypes'> = {
  workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
};
