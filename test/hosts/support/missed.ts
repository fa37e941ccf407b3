/** A cut that Temporal does not notice has no effect. */

import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { HostActivities } from '../../../workflows/contracts/host';
import { PATIENCE_MS } from '../machine/deadline';
import type { Fleet } from './fleet';
import { withUpdate } from './node-updates';

/** Then the step waits for an absent host. */
const NOT_BEGUN_MS = 10_000;
const ASK_AGAIN_MS = 500;

const HOST_STEPS = [
  'prepareUpdate',
  'applyUpdate',
  'armReboot',
  'verifyUpdate',
] as const satisfies (keyof HostActivities)[];

type PendingActivities = NonNullable<
  Awaited<ReturnType<WorkflowHandle['describe']>>['raw']['pendingActivities']
>;

/**
 * A step missed its heartbeats and is retried, or a scheduled step was not started.
 *
 * @throws Error on timeout, with the pending activities
 */
export async function untilMissed({ temporal }: Fleet, node: string): Promise<void> {
  await withUpdate(temporal, node, async (update) => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const { raw } = await update.describe();
      const pending = raw.pendingActivities ?? [];
      if (pending.some(isMissed)) return;
      if (performance.now() > deadline) throw new Error(notMissed(node, pending));
      await delay(ASK_AGAIN_MS);
    }
  });
}

function isMissed(step: PendingActivities[number]): boolean {
  const { activityType, attempt, lastStartedTime, scheduledTime } = step;
  if (!HOST_STEPS.some((name) => name === activityType?.name)) return false;
  if ((attempt ?? 1) > 1) return true;
  const waitedMs = Date.now() - Number(scheduledTime?.seconds ?? 0) * 1000;
  return lastStartedTime == null && waitedMs > NOT_BEGUN_MS;
}

function notMissed(node: string, pending: PendingActivities): string {
  const steps = pending.map(({ activityType, attempt }) => `${activityType?.name} (${attempt})`);
  return `the host of ${node} is not missed; pending are ${steps.join(', ') || 'no steps'}`;
}
