import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { fail, messageOf } from '../../core/errors';
import type { ActivityRun } from './ports';

/** @throws when called outside an activity */
export function currentRun(): ActivityRun {
  const context = Context.current();
  const { info, log } = context;
  const beganAt = performance.now();
  return {
    signal: context.cancellationSignal,
    attempt: info.attempt,
    lastHeartbeat: info.heartbeatDetails,
    scheduledAtMs: info.scheduledTimestampMs,
    temporalNow: () => info.currentAttemptScheduledTimestampMs + performance.now() - beganAt,
    attemptMs: info.startToCloseTimeoutMs,
    isAwaited: () => isAwaited(context),
    log,
    heartbeat: (details) => {
      context.heartbeat(details);
    },
  };
}

/** A closed run is not open; a retried attempt has a higher number. */
async function isAwaited({ client, info }: Context): Promise<boolean> {
  const { workflowId = '', runId } = info.workflowExecution ?? {};
  try {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    return (raw.pendingActivities ?? []).some(
      ({ activityId, attempt }) => activityId === info.activityId && attempt === info.attempt,
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw fail('TemporalUnavailable', `Temporal does not answer: ${messageOf(error)}`);
  }
}
