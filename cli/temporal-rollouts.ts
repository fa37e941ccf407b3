/** Temporal as the CLI uses it. */

import type { Client } from '@temporalio/client';
import {
  QueryNotRegisteredError,
  ServiceError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { CLUSTER_QUEUE, poolRolloutId, updateNodeId } from '../core/names';
import { messageOf } from '../core/errors';
import type { NodeRequest, PoolRolloutInput, RolloutAnswer } from '../workflows/messages';
import {
  cancelNodeUpdate,
  pauseUpdate,
  progressQuery,
  resumeUpdate,
  retargetUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  statusQuery,
} from '../workflows/messages';
import { SEARCH_ATTRIBUTE } from '../workflows/search-attributes';
import { cliError, EXIT } from './exit-codes';
import type { CliTemporal, RolloutRecord } from './ports';

/** gRPC status codes that are answers here and not faults. */
const NOT_FOUND = 5;

/** Workflow type of a rollout, as exported by workflows/index.ts. */
const POOL_ROLLOUT = 'poolRollout';

const NODE_UPDATES = {
  retryNode: retryNodeUpdate,
  skipNode: skipNodeUpdate,
  cancelNode: cancelNodeUpdate,
} as const;

export function temporalRollouts(client: Client, user: string | undefined): CliTemporal {
  const rollout = (pool: string) => client.workflow.getHandle(poolRolloutId(pool));
  const by = user === undefined ? {} : { by: user };
  return {
    progress: (pool) =>
      ifRunning(async () => {
        const handle = rollout(pool);
        if ((await handle.describe()).status.name !== 'RUNNING') return undefined;
        return handle.query(progressQuery);
      }),
    nodeStatus: (node) =>
      ifRunning(async () => {
        const handle = client.workflow.getHandle(updateNodeId(node));
        if ((await handle.describe()).status.name !== 'RUNNING') return undefined;
        return handle.query(statusQuery);
      }),
    start: (pool, config) => start(client, pool, config),
    pause: (pool, reason) =>
      ifRunning(() => rollout(pool).executeUpdate(pauseUpdate, { args: [{ reason, ...by }] })),
    resume: (pool, reason) =>
      ifRunning(() => rollout(pool).executeUpdate(resumeUpdate, { args: [{ reason, ...by }] })),
    node: (verb, pool, request: NodeRequest) =>
      ifRunning(() => rollout(pool).executeUpdate(NODE_UPDATES[verb], { args: [request] })),
    cancel: async (pool) =>
      (await ifRunning(async () => {
        await rollout(pool).cancel();
        return true;
      })) === true,
    rollouts: (options) => listRollouts(client, options),
  };
}

async function start(client: Client, pool: string, config: string): Promise<RolloutAnswer> {
  const args: [PoolRolloutInput] = [{ pool }];
  const startWorkflowOperation = new WithStartWorkflowOperation(POOL_ROLLOUT, {
    workflowId: poolRolloutId(pool),
    taskQueue: CLUSTER_QUEUE,
    args,
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: `${pool} → ${config}`,
    typedSearchAttributes: [
      { key: SEARCH_ATTRIBUTE.pool, value: pool },
      { key: SEARCH_ATTRIBUTE.config, value: config },
    ],
  });
  return refusalsInWords(() =>
    client.workflow.executeUpdateWithStart(retargetUpdate, {
      args: [{ config }],
      startWorkflowOperation,
    }),
  );
}

/** The answer of a running workflow; undefined when none runs. */
async function ifRunning<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await refusalsInWords(ask);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (error instanceof ServiceError && codeOf(error.cause) === NOT_FOUND) return undefined;
    throw error;
  }
}

/** A refused update is the workflow's own sentence; a worker that is away is named as such. */
async function refusalsInWords<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) {
      throw cliError(EXIT.FAILED, messageOf(error.cause ?? error));
    }
    if (error instanceof QueryNotRegisteredError) {
      throw cliError(
        EXIT.UNREACHABLE,
        `the rollout does not answer: ${error.message}; is a cluster worker of this version running?`,
      );
    }
    throw error;
  }
}

function codeOf(cause: unknown): number | undefined {
  return typeof cause === 'object' &&
    cause !== null &&
    'code' in cause &&
    typeof cause.code === 'number'
    ? cause.code
    : undefined;
}

async function listRollouts(
  client: Client,
  options: { readonly pool?: string; readonly limit: number },
): Promise<readonly RolloutRecord[]> {
  const which =
    options.pool === undefined
      ? `WorkflowType = '${POOL_ROLLOUT}'`
      : `WorkflowId = '${poolRolloutId(options.pool)}'`;
  const records: RolloutRecord[] = [];
  for await (const execution of client.workflow.list({ query: which, pageSize: options.limit })) {
    const config = execution.typedSearchAttributes.get(SEARCH_ATTRIBUTE.config);
    records.push({
      pool: execution.workflowId.replace(/^pool-rollout\//, ''),
      runId: execution.runId,
      status: execution.status.name,
      ...(config === undefined ? {} : { config }),
      startedAt: execution.startTime.toISOString(),
      ...(execution.closeTime === undefined ? {} : { endedAt: execution.closeTime.toISOString() }),
    });
    if (records.length === options.limit) break;
  }
  return records;
}
