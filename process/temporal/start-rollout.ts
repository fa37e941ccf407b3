import { WithStartWorkflowOperation, type WorkflowClient } from '@temporalio/client';
import { CLUSTER_QUEUE, poolRolloutId } from '../../core/names';
import {
  startUpdate,
  type PoolRolloutInput,
  type Reason,
  type StepResult,
} from '../../workflows/contracts/rollout';
import { PRIORITY } from '../../workflows/contracts/priorities';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';

/** By name: starting a rollout loads no workflow code. */
export const POOL_ROLLOUT = 'poolRollout';

/** How the rollout of a pool is started: the open one goes on. */
export function rolloutStart(pool: string) {
  return {
    workflowId: poolRolloutId(pool),
    taskQueue: CLUSTER_QUEUE,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    priority: PRIORITY.rollout,
    staticSummary: `roll pool ${pool} to its rendered config`,
    typedSearchAttributes: [{ key: SEARCH_ATTRIBUTE.pool, value: pool }],
  };
}

/**
 * Starts the rollout of a pool, or has the open one go on with what a person cancelled, and waits for its answer.
 *
 * @throws WorkflowUpdateFailedError when it refuses
 */
export async function startByPerson(
  workflow: WorkflowClient,
  pool: string,
  reason: Reason,
): Promise<StepResult> {
  const input: PoolRolloutInput = { pool };
  const startWorkflowOperation = new WithStartWorkflowOperation(POOL_ROLLOUT, {
    ...rolloutStart(pool),
    args: [input],
  });
  return workflow.executeUpdateWithStart(startUpdate, { args: [reason], startWorkflowOperation });
}
