/** What the rollouts of a pool did, as Temporal wrote it down: for the failure of a wait. */

import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { poolRolloutId } from '../../../core/names';
import type { TemporalServer } from '../../../tools/temporal';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const RUNS = 3;
const EVENTS = 60;

/** The last runs of the pool's rollout, latest first, with the last events of each. */
export async function rolloutHistory(
  { address, namespace }: Pick<TemporalServer, 'address' | 'namespace'>,
  pool: string,
): Promise<string> {
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection, namespace });
    const runs: string[] = [];
    for await (const run of client.workflow.list({
      query: `WorkflowId = '${poolRolloutId(pool)}'`,
    })) {
      runs.push(await toldOf(client, run));
      if (runs.length === RUNS) break;
    }
    return runs.join('\n');
  } finally {
    await connection.close();
  }
}

async function toldOf(
  client: Client,
  { workflowId, runId, status, startTime, closeTime }: WorkflowExecutionInfo,
): Promise<string> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const ended = closeTime === undefined ? '' : `, ended ${closeTime.toISOString()}`;
  const head = `rollout ${runId}: ${status.name}, began ${startTime.toISOString()}${ended}`;
  return [head, ...(events ?? []).slice(-EVENTS).map(nameOf)].join('\n');
}

function nameOf(event: HistoryEvent): string {
  const [kind, attributes] =
    Object.entries(event).find(([name, value]) => name.endsWith('Attributes') && value) ?? [];
  return `  ${String(event.eventId)} ${timeOf(event)} ${kind?.replace('EventAttributes', '') ?? ''} ${detailOf(attributes)}`;
}

function timeOf({ eventTime }: HistoryEvent): string {
  return new Date(Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6)
    .toISOString()
    .slice(11, 23);
}

/** Names only: payloads are long, and none of them says more. */
function detailOf(attributes: unknown): string {
  const { signalName, activityType, workflowId, workflowExecution, failure, acceptedRequest } =
    attributes as {
      readonly signalName?: string;
      readonly activityType?: { readonly name?: string };
      readonly workflowId?: string;
      readonly workflowExecution?: { readonly workflowId?: string };
      readonly failure?: { readonly message?: string };
      readonly acceptedRequest?: { readonly input?: { readonly name?: string } };
    };
  return [
    signalName,
    activityType?.name,
    workflowId ?? workflowExecution?.workflowId,
    acceptedRequest?.input?.name,
    failure?.message,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}
