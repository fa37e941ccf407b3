/** What Temporal shows of rollouts and updates, by names alone: no code of the product's workflows. */

import { Client, Connection } from '@temporalio/client';
import { setTimeout as delay } from 'node:timers/promises';
import type { RolloutRecord } from './record';
import { Silence } from './silence';

const LOOK_EVERY_MS = 3_000;
const PATIENCE_MS = 5_000;

export interface TemporalPlace {
  readonly address: string;
  readonly namespace: string;
}

/** Looks now and then until the signal aborts, and reports what waits without a word. */
export async function watchTemporal(
  place: TemporalPlace,
  record: RolloutRecord,
  signal: AbortSignal,
): Promise<void> {
  const connection = Connection.lazy({
    address: place.address,
    connectTimeout: PATIENCE_MS,
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 1_000,
    },
  });
  const client = new Client({ connection, namespace: place.namespace });
  const within = <T>(ask: () => Promise<T>) =>
    connection.withDeadline(Date.now() + PATIENCE_MS, ask);
  const silence = new Silence(record, {
    blockerOf: (id) => within(() => blockerOf(client, id)),
  });
  const isStopped = (): boolean => signal.aborted;
  while (!isStopped()) {
    try {
      const ids = await within(() => openWorkflows(client));
      for (const { invariant, subject, text } of await silence.look({ ids }, Date.now())) {
        record.report(invariant, subject, text);
      }
    } catch {
      // Away, or an empty server that does not know the namespace yet.
      silence.interrupted();
    }
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  await connection.close();
}

async function openWorkflows(client: Client): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  const query = 'ExecutionStatus = "Running"';
  for await (const { workflowId } of client.workflow.list({ query })) ids.add(workflowId);
  return ids;
}

interface Status {
  readonly blocker?: string;
  readonly children?: readonly unknown[];
}

/** Its own word, or what Temporal shows beside a step that is tried again. */
async function blockerOf(client: Client, workflowId: string): Promise<string | undefined> {
  const handle = client.workflow.getHandle(workflowId);
  const { raw } = await handle.describe();
  const failing = raw.pendingActivities?.find(({ lastFailure }) => lastFailure?.message != null);
  if (failing?.lastFailure?.message != null) return failing.lastFailure.message;
  const isRollout = workflowId.startsWith('pool-rollout/');
  const status = await handle.query<Status>(isRollout ? 'progress' : 'status');
  // A rollout whose updates run has its reason in them.
  if (isRollout && (status.children?.length ?? 0) > 0) return 'its node updates';
  return status.blocker;
}
