import { WithStartWorkflowOperation, type WorkflowClient } from '@temporalio/client';
import { CLUSTER_QUEUE, poolRolloutId } from '../../core/names';
import type { PictureVersions } from '../../workflows/contracts/cluster';
import {
  retargetUpdate,
  type PoolRolloutInput,
  type RolloutAnswer,
} from '../../workflows/messages';
import { PRIORITY } from '../../workflows/contracts/priorities';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';

/** By name: starting a rollout loads no workflow code. */
export const POOL_ROLLOUT = 'poolRollout';

/**
 * A worker without the rollout in its cache replays the history within a task. With thousands of
 * nodes that may exceed the default of 10 s. All runs of a rollout inherit it.
 */
const TASK_TIMEOUT = '30s';

/**
 * Starts the rollout of a pool, or makes the open one check this config at once, and waits for its
 * answer.
 *
 * @param versions - of the cache that shows the config on the pool; absent: no cache
 * @throws WorkflowUpdateFailedError when the open one refuses, because it is ending
 */
export async function startOrRetarget(
  workflow: WorkflowClient,
  pool: string,
  config: string,
  versions?: PictureVersions,
): Promise<RolloutAnswer> {
  const input: PoolRolloutInput = { pool };
  const startWorkflowOperation = new WithStartWorkflowOperation(POOL_ROLLOUT, {
    workflowId: poolRolloutId(pool),
    taskQueue: CLUSTER_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowTaskTimeout: TASK_TIMEOUT,
    priority: PRIORITY.rollout,
    staticSummary: `roll pool ${pool} to its rendered config`,
    typedSearchAttributes: [
      { key: SEARCH_ATTRIBUTE.pool, value: pool },
      { key: SEARCH_ATTRIBUTE.config, value: config },
    ],
  });
  return workflow.executeUpdateWithStart(retargetUpdate, {
    args: [{ config, ...(versions === undefined ? {} : { versions }) }],
    startWorkflowOperation,
  });
}
