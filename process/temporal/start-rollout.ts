/** The one way in which a rollout is started, by the controllers and by the CLI. */

import { WithStartWorkflowOperation, type WorkflowClient } from '@temporalio/client';
import { CLUSTER_QUEUE, poolRolloutId } from '../../core/names';
import type { PictureVersions } from '../../workflows/cluster-contracts';
import {
  retargetUpdate,
  type PoolRolloutInput,
  type RolloutAnswer,
} from '../../workflows/messages';
import { PRIORITY } from '../../workflows/priorities';
import { SEARCH_ATTRIBUTE } from '../../workflows/search-attributes';

/** Workflow type of a pool's rollout, by name: whoever starts one does not load workflow code. */
export const POOL_ROLLOUT = 'poolRollout';

/**
 * A worker that has not got a rollout in memory replays its history within a task. Through thousands of nodes, on a
 * machine that is short of processor time, that may take longer than the 10 s that the server gives, each time. All
 * runs of a rollout inherit it.
 */
const TASK_TIMEOUT = '30s';

/**
 * Starts the rollout of a pool, or tells the one that is open to look at this config now. Waits for
 * its answer, which is how a refusal is heard.
 *
 * @param versions - of the picture that shows the config on the pool; absent = whoever asks has none
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
