import type { Client } from '@temporalio/client';

interface HistoryEvent {
  readonly workflowExecutionSignaledEventAttributes?: {
    readonly signalName?: string | null;
    readonly input?: { readonly payloads?: readonly Payload[] | null } | null;
  } | null;
  readonly signalExternalWorkflowExecutionInitiatedEventAttributes?: {
    readonly signalName?: string | null;
    readonly workflowExecution?: { readonly workflowId?: string | null } | null;
  } | null;
}

interface Payload {
  readonly data?: Uint8Array | null;
}

/** Since the rollout last got a target. */
export interface Told {
  readonly failures: number;
  /** Although `limit` failures had been reported. */
  readonly grantsAfter: readonly string[];
  /** They have a slot, and no reported end. */
  readonly inFlight: readonly string[];
  readonly order: readonly string[];
}

/** From the open rollout's history. */
export async function grantsAndFailures(
  client: Client,
  pool: string,
  config: string,
  limit: number,
): Promise<Told> {
  const { events } = await client.workflow.getHandle(`pool-rollout/${pool}`).fetchHistory();
  const failed = new Set<string>();
  const grantsAfter: string[] = [];
  const order: string[] = [];
  const inFlight = new Set<string>();
  for (const event of (events ?? []) as readonly HistoryEvent[]) {
    const report = reportIn(event);
    if (report !== undefined) {
      inFlight.delete(`update-node/${report.node}`);
      order.push(`${report.node} ${report.outcome} on ${report.config.slice(-6)}`);
      if (report.outcome === 'failed' && report.config === config) failed.add(report.node);
    }
    const granted = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
    if (granted?.signalName !== 'proceed') continue;
    const id = granted.workflowExecution?.workflowId ?? '';
    order.push(`slot for ${id}`);
    inFlight.add(id);
    if (failed.size >= limit) grantsAfter.push(id);
  }
  return { failures: failed.size, grantsAfter, inFlight: [...inFlight], order };
}

interface Report {
  readonly node: string;
  readonly config: string;
  readonly outcome: string;
}

function reportIn(event: HistoryEvent): Report | undefined {
  const signal = event.workflowExecutionSignaledEventAttributes;
  const data = signal?.input?.payloads?.[0]?.data;
  if (signal?.signalName !== 'nodeFinished' || data == null) return undefined;
  return JSON.parse(Buffer.from(data).toString()) as Report;
}
