/** The histories of a pool's rollouts in Temporal, for the message of a failed wait. */

import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { defaultPayloadConverter, type ProtoFailure } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { poolRolloutId, updateNodeId } from '../../../core/names';
import { withOpenPayloads } from '../../../process/temporal/open-payloads';
import type { Stack } from '../../../tools/stack/stack';
import { withTemporalClient } from '../../../tools/temporal';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const RUNS = 3;
const EVENTS = 60;
/** These events show when a worker ran, not the result. */
const SILENT = /^(workflowTask|activityTaskStarted|upsertWorkflow|markerRecorded)/;

/** The last runs of the pool's rollout, latest first, with the last events of each. */
export function rolloutHistory(stack: Server, pool: string): Promise<string> {
  return historyOf(stack, poolRolloutId(pool));
}

export function updateHistory(stack: Server, node: string): Promise<string> {
  return historyOf(stack, updateNodeId(node));
}

type Server = Pick<Stack, 'temporal'>;

function historyOf({ temporal }: Server, workflowId: string): Promise<string> {
  const read = async (client: Client): Promise<string> => {
    const runs: string[] = [];
    for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      runs.push(await toldOf(client, run));
      if (runs.length === RUNS) break;
    }
    return runs.join('\n');
  };
  return withTemporalClient(temporal, read);
}

async function toldOf(
  client: Client,
  { workflowId, runId, status, startTime, closeTime }: WorkflowExecutionInfo,
): Promise<string> {
  const { events: sent } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const { payloadCodecs } = client.options.loadedDataConverter;
  const events = await withOpenPayloads(sent ?? [], payloadCodecs);
  const ended = closeTime === undefined ? '' : `, ended ${closeTime.toISOString()}`;
  const head = `${workflowId} ${runId}: ${status.name}, began ${startTime.toISOString()}${ended}`;
  const told = events.map(lineOf).filter((line) => line !== undefined);
  return [head, ...told.slice(-EVENTS)].join('\n');
}

function lineOf(event: HistoryEvent): string | undefined {
  const [name, attributes] =
    Object.entries(event).find(([key, value]) => key.endsWith('Attributes') && value) ?? [];
  const kind = name?.replace('EventAttributes', '') ?? '';
  if (SILENT.test(kind)) return undefined;
  return `  ${String(event.eventId)} ${timeOf(event)} ${kind} ${detailOf(attributes)}`;
}

function timeOf({ eventTime }: HistoryEvent): string {
  return new Date(Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6)
    .toISOString()
    .slice(11, 23);
}

/** Names only: payloads are long and add nothing. */
function detailOf(attributes: unknown): string {
  const { signalName, activityType, workflowId, workflowExecution, failure, acceptedRequest } =
    attributes as {
      readonly signalName?: string;
      readonly activityType?: { readonly name?: string };
      readonly workflowId?: string;
      readonly workflowExecution?: { readonly workflowId?: string };
      readonly failure?: ProtoFailure;
      readonly acceptedRequest?: { readonly input?: { readonly name?: string } };
    };
  return [
    signalName,
    activityType?.name,
    workflowId ?? workflowExecution?.workflowId,
    acceptedRequest?.input?.name,
    failure && messageOf(failure),
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}

function messageOf({ message, encodedAttributes }: ProtoFailure): string {
  const said = encodedAttributes && defaultPayloadConverter.fromPayload(encodedAttributes);
  return (said as { readonly message?: string } | null | undefined)?.message ?? message ?? '';
}
