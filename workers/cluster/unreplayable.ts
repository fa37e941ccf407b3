import type { WorkerOptions } from '@temporalio/worker';

/**
 * A workflow that cannot continue from its history fails. The controllers start another rollout,
 * which adopts the nodes of lost updates. By default its task would be retried for ever.
 */
export const UNREPLAYABLE_FAILS: Pick<WorkerOptions, 'workflowFailureErrorTypes'> = {
  workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
};
