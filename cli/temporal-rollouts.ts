import type { Client, WorkflowExecutionDescription, WorkflowHandle } from '@temporalio/client';
import {
  QueryNotRegisteredError,
  QueryRejectedError,
  ServiceError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { hostQueue, poolRolloutId, SIMULATED_HOST, updateNodeId } from '../core/names';
import { messageOf } from '../core/errors';
import { NodeUpdates } from '../process/temporal/node-updates';
import { withOpenPayloads } from '../process/temporal/open-payloads';
import { POOL_ROLLOUT, rolloutStart, startByPerson } from '../process/temporal/start-rollout';
import { isOpenStatus } from '../process/temporal/open-updates';
import {
  cancelNodeUpdate,
  pauseUpdate,
  resumeUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  type PoolRolloutInput,
  type StepResult,
} from '../workflows/contracts/rollout';
import { statusQuery } from '../workflows/contracts/update';
import { SEARCH_ATTRIBUTE } from '../workflows/contracts/search-attributes';
import { cliError, EXIT } from './exit-codes';
import { stepOf, whyNoStep } from './running-step';
import type {
  CliTemporal,
  HostWorkerRecord,
  OpenRollout,
  PausedInTemporal,
  RolloutRecord,
} from './ports';
import type { TemporalCalls } from './temporal-calls';

const NOT_FOUND = 5;

const NODE_UPDATES = {
  retryNode: retryNodeUpdate,
  skipNode: skipNodeUpdate,
  cancelNode: cancelNodeUpdate,
} as const;

export function temporalRollouts(
  client: Client,
  calls: TemporalCalls,
  user: string | undefined,
): CliTemporal {
  const by = user === undefined ? {} : { by: user };
  const find = (workflow: string) => findOpen(client, calls, workflow);
  const tell = async (
    pool: string,
    update: (rollout: WorkflowHandle) => Promise<StepResult>,
  ): Promise<StepResult | undefined> => {
    const rollout = await find(poolRolloutId(pool));
    if (rollout === undefined) return undefined;
    refusePaused(rollout);
    const { id, handle } = rollout;
    return ifFound(() => refusalsInWords(() => calls.request(id, () => update(handle))));
  };
  const startAndTell = async (pool: string, update: () => Promise<StepResult>) => {
    const id = poolRolloutId(pool);
    refusePaused(await find(id));
    return refusalsInWords(() => calls.request(id, update));
  };
  return {
    openRollout: async (pool) => {
      const rollout = await find(poolRolloutId(pool));
      if (rollout === undefined) return undefined;
      return isPaused(rollout) ? pauseOf(rollout) : openRolloutOf(rollout);
    },
    openUpdates: (pool) => calls.ofServer(() => new NodeUpdates(client).listOpen(pool)),
    nodeStatus: async (node) => {
      const update = await find(updateNodeId(node));
      if (update === undefined) return undefined;
      const status = await ask(calls, update, () => update.handle.query(statusQuery));
      const step = stepOf(update.description, Date.now());
      return status === undefined || step === undefined ? status : { ...status, step };
    },
    steps: async (nodes) => {
      const found = await Promise.all(
        nodes.map(async (node) => [node, await find(updateNodeId(node))] as const),
      );
      return new Map(
        found.flatMap(([node, update]) => {
          if (update === undefined) return [];
          const { description } = update;
          const step = stepOf(description, Date.now());
          return step === undefined
            ? []
            : [[node, { ...step, since: description.startTime.toISOString() }]];
        }),
      );
    },
    hostWorker: (node) => hostWorker(client, calls, node),
    start: (pool) => startAndTell(pool, () => startByPerson(client.workflow, pool, by)),
    pause: (pool, reason) =>
      tell(pool, (rollout) => rollout.executeUpdate(pauseUpdate, { args: [{ reason, ...by }] })),
    resume: (pool, reason) =>
      tell(pool, (rollout) => rollout.executeUpdate(resumeUpdate, { args: [{ reason, ...by }] })),
    node: (verb, pool, request) =>
      startAndTell(pool, () =>
        client.workflow.executeUpdateWithStart(NODE_UPDATES[verb], {
          args: [request],
          startWorkflowOperation: startedByWord(pool),
        }),
      ),
    cancel: async (pool) => {
      const rollout = await find(poolRolloutId(pool));
      // Temporal silently accepts the cancellation of an ended rollout.
      if (rollout === undefined) return false;
      refusePaused(rollout);
      await calls.ofServer(() => rollout.handle.cancel());
      return true;
    },
    rollouts: (options) => calls.ofServer(() => listRollouts(client, options)),
  };
}

/** A word about one node starts no rollout that a person has to start. */
function startedByWord(pool: string) {
  const input: PoolRolloutInput = { pool, isWoken: true };
  return new WithStartWorkflowOperation(POOL_ROLLOUT, { ...rolloutStart(pool), args: [input] });
}

interface OpenWorkflow {
  readonly id: string;
  readonly handle: WorkflowHandle;
  readonly description: WorkflowExecutionDescription;
}

async function findOpen(
  client: Client,
  calls: TemporalCalls,
  id: string,
): Promise<OpenWorkflow | undefined> {
  const handle = client.workflow.getHandle(id);
  const described = await ifFound(() => calls.ofServer(() => handle.describe()));
  if (described === undefined || !isOpenStatus(described.status.name)) return undefined;
  const { payloadCodecs } = client.options.loadedDataConverter;
  const raw = await withOpenPayloads(described.raw, payloadCodecs);
  return { id, handle, description: { ...described, raw } };
}

function openRolloutOf({ description }: OpenWorkflow): OpenRollout {
  const blocker = whyNoStep(description, Date.now());
  return { runId: description.runId, ...(blocker === undefined ? {} : { blocker }) };
}

/** The answer of a running workflow, or its pause in Temporal. */
async function ask<T>(
  calls: TemporalCalls,
  workflow: OpenWorkflow,
  query: () => Promise<T>,
): Promise<T | PausedInTemporal | undefined> {
  if (isPaused(workflow)) return pauseOf(workflow);
  try {
    return await ifFound(() => refusalsInWords(() => calls.ofWorker(workflow.id, query)));
  } catch (error) {
    // It was paused after it was described.
    if (error instanceof QueryRejectedError) return pauseOf(workflow);
    throw error;
  }
}

function isPaused({ description }: OpenWorkflow): boolean {
  return description.status.name === 'PAUSED';
}

function pauseOf({ id, description }: OpenWorkflow): PausedInTemporal {
  const { identity, reason } = description.raw.workflowExtendedInfo?.pauseInfo ?? {};
  const who = identity === undefined || identity === '' ? '' : ` by ${identity}`;
  const why = reason === undefined || reason === '' ? '' : ` (${reason})`;
  return {
    pausedInTemporal: `${id} is paused in Temporal${who}${why}; let it go on: temporal workflow unpause --workflow-id ${id}`,
  };
}

/** Temporal passes no request to a paused workflow. */
function refusePaused(workflow: OpenWorkflow | undefined): void {
  if (workflow === undefined || !isPaused(workflow)) return;
  throw cliError(EXIT.PAUSED, pauseOf(workflow).pausedInTemporal);
}

/** `TASK_QUEUE_TYPE_ACTIVITY` */
const ACTIVITY_QUEUE = 2;

/** Temporal remembers it for some minutes. */
async function hostWorker(
  client: Client,
  calls: TemporalCalls,
  node: string,
): Promise<HostWorkerRecord | undefined> {
  const { pollers } = await calls.ofServer(() =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: hostQueue(node) },
      taskQueueType: ACTIVITY_QUEUE,
    }),
  );
  const seconds = (poller: (typeof pollers)[number]) => Number(poller.lastAccessTime?.seconds ?? 0);
  const [last] = [...pollers].sort((a, b) => seconds(b) - seconds(a));
  const identity = last?.identity ?? '';
  if (last === undefined || identity === '') return undefined;
  const isSimulated = identity.startsWith(SIMULATED_HOST);
  const askedAt = new Date(seconds(last) * 1000).toISOString();
  return { identity, askedAt, ...(isSimulated ? { simulated: true } : {}) };
}

/** Undefined without such a workflow. */
async function ifFound<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (error instanceof ServiceError && codeOf(error.cause) === NOT_FOUND) return undefined;
    throw error;
  }
}

/** Or a hint at a worker of another version. */
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
