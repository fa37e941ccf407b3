/** Rollouts and updates in Temporal: the open ones, and those that failed lately, with what they did last. */

import type { Client } from '@temporalio/client';
import { CLUSTER_QUEUE, STEP_QUEUE } from '../../core/names';
import { UPDATE_NODE } from '../../process/temporal/node-updates';
import { withOpenPayloads } from '../../process/temporal/open-payloads';
import { POOL_ROLLOUT } from '../../process/temporal/start-rollout';
import type { TemporalCalls } from '../temporal-calls';
import type { Bundle } from './bundle';
import { plainHistory } from './history';
import type { Period } from './kubernetes';

export interface SupportTemporal {
  readonly client: Client;
  readonly calls: TemporalCalls;
  readonly address: string;
  readonly namespace: string;
}

const OURS = `WorkflowType IN ('${POOL_ROLLOUT}', '${UPDATE_NODE}')`;
const MOST_WORKFLOWS = 1_000;
const MOST_HISTORIES = 100;
/** The last of a history. */
const EVENTS = 500;
const QUEUE_TYPES = { workflows: 1, activities: 2 } as const;

export async function collectTemporal(
  temporal: SupportTemporal,
  bundle: Bundle,
  period: Period,
): Promise<void> {
  await bundle.collect('task queues of Temporal', () => taskQueues(temporal, bundle));
  await bundle.collect('namespace of Temporal', async () => {
    const { client, calls, namespace } = temporal;
    const described = await calls.ofServer(() =>
      client.workflowService.describeNamespace({ namespace }),
    );
    const { config, namespaceInfo } = described;
    await bundle.json('temporal/namespace.json', plainHistory({ namespaceInfo, config }));
  });
  const failedSince = new Date(period.nowMs - period.sinceSeconds * 1000).toISOString();
  const lists = {
    open: `${OURS} AND CloseTime IS NULL`,
    failed:
      `${OURS} AND ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut', 'Canceled') ` +
      `AND CloseTime > '${failedSince}'`,
  };
  for (const [which, query] of Object.entries(lists)) {
    await bundle.collect(`${which} workflows`, () => workflows(temporal, bundle, which, query));
  }
}

async function taskQueues(
  { client, calls, namespace }: SupportTemporal,
  bundle: Bundle,
): Promise<void> {
  for (const name of [CLUSTER_QUEUE, STEP_QUEUE]) {
    for (const [kind, taskQueueType] of Object.entries(QUEUE_TYPES)) {
      const { pollers, stats } = await calls.ofServer(() =>
        client.workflowService.describeTaskQueue({
          ...{ namespace, taskQueue: { name }, taskQueueType, reportStats: true },
        }),
      );
      const path = `temporal/task-queues/${fileName(name)}-${kind}.json`;
      await bundle.json(path, plainHistory({ pollers, stats }));
    }
  }
}

async function workflows(
  temporal: SupportTemporal,
  bundle: Bundle,
  which: string,
  query: string,
): Promise<void> {
  const { client, calls } = temporal;
  const found = await calls.ofServer(async () => {
    const first: { workflowId: string; runId: string; shown: object }[] = [];
    for await (const info of client.workflow.list({ query })) {
      const { workflowId, runId, type, status, startTime, closeTime, searchAttributes } = info;
      const shown = { workflowId, runId, type, status: status.name, startTime, closeTime };
      first.push({ workflowId, runId, shown: { ...shown, searchAttributes } });
      if (first.length === MOST_WORKFLOWS) break;
    }
    return first;
  });
  if (found.length === MOST_WORKFLOWS) {
    bundle.leaveOut(`${which} workflows`, `only the newest ${MOST_WORKFLOWS} are here`);
  }
  await bundle.lines(
    `temporal/${which}.jsonl`,
    found.map(({ shown }) => JSON.parse(JSON.stringify(shown)) as unknown),
  );
  if (found.length > MOST_HISTORIES) {
    const says = `only those of the newest ${MOST_HISTORIES} are here`;
    bundle.leaveOut(`histories of ${which} workflows`, says);
  }
  for (const { workflowId, runId } of found.slice(0, MOST_HISTORIES)) {
    await bundle.collect(`history of ${workflowId}`, () =>
      history(temporal, bundle, { workflowId, runId }, which),
    );
  }
}

/** The last events say why it failed, or what it waits for. */
async function history(
  { client, calls, namespace }: SupportTemporal,
  bundle: Bundle,
  execution: { readonly workflowId: string; readonly runId: string },
  which: string,
): Promise<void> {
  const answer = await calls.ofServer(() =>
    client.workflowService.getWorkflowExecutionHistoryReverse({
      ...{ namespace, execution, maximumPageSize: EVENTS },
    }),
  );
  const name = `${fileName(execution.workflowId)}-${execution.runId}`;
  if (answer.nextPageToken.length > 0) {
    bundle.leaveOut(
      `history of ${execution.workflowId}`,
      `only its last ${EVENTS} events are here`,
    );
  }
  const { payloadCodecs } = client.options.loadedDataConverter;
  const history = await withOpenPayloads(answer.history?.events ?? [], payloadCodecs);
  const events = [...history].reverse();
  await bundle.lines(`temporal/histories/${which}/${name}.jsonl`, events.map(plainHistory));
}

function fileName(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '_');
}
