/** How the updates of a pool ended, from Temporal. */

import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { Stack } from '../tools/stack/stack';
import { withTemporalClient } from '../tools/temporal';
import { SEARCH_ATTRIBUTE } from '../workflows/contracts/search-attributes';
import type { NodeReport } from '../workflows/contracts/update';

/** The last updates end a moment after their rollout. */
const PATIENCE_MS = 10_000;

interface EndedUpdate extends Pick<NodeReport, 'phases'> {
  /** Undefined = it has not ended, or nobody knows how. */
  readonly outcome: string | undefined;
}

export function updatesSince(
  { temporal }: Stack,
  pool: string,
  since: Date,
): Promise<readonly EndedUpdate[]> {
  return withTemporalClient(temporal, async (client) => {
    const query = [
      `WorkflowType = 'updateNode'`,
      `${SEARCH_ATTRIBUTE.pool.name} = '${pool}'`,
      `StartTime >= '${since.toISOString()}'`,
    ].join(' AND ');
    const ends: Promise<EndedUpdate>[] = [];
    for await (const run of client.workflow.list({ query })) ends.push(endOf(client, run));
    return Promise.all(ends);
  });
}

/** Only an update that succeeded leaves a report. */
async function endOf(
  { workflow, connection }: Client,
  { workflowId, runId }: WorkflowExecutionInfo,
): Promise<EndedUpdate> {
  const update = workflow.getHandle(workflowId, runId);
  try {
    const ended = connection.withDeadline(Date.now() + PATIENCE_MS, () => update.result());
    return (await ended) as NodeReport;
  } catch {
    const { typedSearchAttributes } = await update.describe();
    return { outcome: typedSearchAttributes.get(SEARCH_ATTRIBUTE.outcome), phases: [] };
  }
}
