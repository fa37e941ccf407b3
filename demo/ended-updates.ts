/** How the updates of a pool ended, from Temporal. */

import { WorkflowFailedError, type Client, type WorkflowExecutionInfo } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
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

async function endOf(
  { workflow, connection }: Client,
  { workflowId, runId }: WorkflowExecutionInfo,
): Promise<EndedUpdate> {
  const update = workflow.getHandle(workflowId, runId);
  try {
    const ended = connection.withDeadline(Date.now() + PATIENCE_MS, () => update.result());
    return (await ended) as NodeReport;
  } catch (error) {
    return reportIn(error) ?? { outcome: undefined, phases: [] };
  }
}

/** An update that failed has its report in the details of its failure. */
function reportIn(error: unknown): NodeReport | undefined {
  const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
  const [report] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return report as NodeReport | undefined;
}
