import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** For a cancellation to arrive on a busy machine. */
const PATIENCE_MS = 90_000;

/**
 * @returns the activities that were not completed when the update heard that it is cancelled: from Temporal, or from
 *   one of them that saw the person's hold, which is written a moment before
 */
export async function stepsWhenCancelled(client: Client, node: string): Promise<readonly string[]> {
  const update = client.workflow.getHandle(`update-node/${node}`);
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end;) {
    const { events } = await update.fetchHistory();
    const before = eventsBeforeCancel(events ?? []);
    if (before !== undefined) return openSteps(before);
  }
  throw new Error(`the update of ${node} was never cancelled`);
}

/** Undefined = it was not cancelled. */
function eventsBeforeCancel(events: readonly HistoryEvent[]): readonly HistoryEvent[] | undefined {
  const at = events.findIndex(
    (event) => event.workflowExecutionCancelRequestedEventAttributes ?? isHeldSeen(event),
  );
  return at < 0 ? undefined : events.slice(0, at);
}

function isHeldSeen({ activityTaskFailedEventAttributes: failed }: HistoryEvent): boolean {
  return failed?.failure?.applicationFailureInfo?.type === 'HeldByUser';
}

function openSteps(events: readonly HistoryEvent[]): readonly string[] {
  const open = new Map<string, string>();
  for (const event of events) {
    const ordered = event.activityTaskScheduledEventAttributes;
    if (ordered) open.set(String(event.eventId), ordered.activityType?.name ?? '');
    const ended =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes;
    if (ended) open.delete(String(ended.scheduledEventId));
  }
  return [...open.values()];
}
