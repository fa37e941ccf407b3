/**
 * The life of one host: its Temporal worker runs until it should stop or the machine should reboot.
 * The reboot comes after the worker has shut down, so that what asked for it has been acknowledged.
 */

import { type NativeConnection, Worker } from '@temporalio/worker';
import { withFailures } from '../activities/failures';
import {
  createExclusive,
  createHostActivities,
  currentStep,
  type Exclusive,
  type HostPorts,
  settleAtStart,
  withHeartbeats,
} from '../activities/host';
import { messageOf } from '../core/errors';
import { hostQueue } from '../core/names';
import type { HostActivities } from '../workflows/activity-contracts';
import { logged } from './host-log';
import type { Logger } from './logging';
import { untilAvailable } from './waiting';

/** Running activities get this long to end when the process stops. */
const SHUTDOWN_GRACE = '20s';
const SHUTDOWN_FORCE = '30s';

/** Everything about a host but its Temporal worker. */
export interface Host {
  readonly node: string;
  /** Shown in the Temporal UI beside whatever this host does. */
  readonly identity: string;
  /** All ports but those that belong to the running activity and to this loop. */
  readonly ports: Omit<HostPorts, 'reboot' | 'context' | 'now'>;
  /** Stands between the activities and the worker; for simulations. */
  readonly around?: (activities: HostActivities) => HostActivities;
  /** Takes the machine down and up again; a real one never returns. */
  reboot(reason: string, signal: AbortSignal): Promise<void>;
}

export interface HostLoopOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Called each time the worker is about to poll. */
  readonly onPolling?: () => void;
  /** Lets only so many workers start or stop at once. */
  readonly limit: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Runs the host until the signal aborts. */
export async function runHost(host: Host, options: HostLoopOptions): Promise<void> {
  const { signal, log } = options;
  // Outlives the Temporal workers: one that was stopped by force may leave an activity behind.
  const exclusive = createExclusive();
  while (!signal.aborted) {
    const reason =
      (await exclusive(() => settleHost(host, log))) ??
      (await untilAvailable(
        `Temporal queue of ${host.node}`,
        () => serve(host, exclusive, options),
        options,
      ));
    if (reason === undefined || signal.aborted) return;
    log.info({ node: host.node, reason }, 'rebooting');
    await host.reboot(reason, signal);
  }
}

/** Serves the host's queue; resolves with the reason when a reboot is due. */
async function serve(
  host: Host,
  exclusive: Exclusive,
  options: HostLoopOptions,
): Promise<string | undefined> {
  const { signal } = options;
  const stop = new AbortController();
  let reason: string | undefined;
  const ports = {
    ...host.ports,
    now: () => new Date(),
    context: currentStep,
    reboot: {
      request: (why: string) => {
        reason = why;
        stop.abort();
      },
    },
  };
  const activities = createHostActivities(ports, exclusive);
  const around = host.around ?? ((inner: HostActivities) => inner);
  const worker = await options.limit(() =>
    Worker.create({
      connection: options.connection,
      namespace: options.namespace,
      taskQueue: hostQueue(host.node),
      identity: host.identity,
      activities: withFailures(withHeartbeats(logged(around(activities), options.log))),
      // They run one after the other all the same: the second is picked up, and waits its turn.
      maxConcurrentActivityTaskExecutions: 2,
      // One open poll per host; `maxConcurrentActivityTaskPolls` is ignored by the SDK.
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
      // Cancellation comes with the answer to a heartbeat: hear of it soon.
      maxHeartbeatThrottleInterval: '2s',
      shutdownGraceTime: SHUTDOWN_GRACE,
      shutdownForceTime: SHUTDOWN_FORCE,
    }),
  );
  const stopping = AbortSignal.any([signal, stop.signal]);
  options.onPolling?.();
  await worker.runUntil(untilAborted(stopping));
  return reason;
}

/** Settles what the last process left; returns why a reboot is due. A damaged journal is reported. */
export async function settleHost(host: Host, log: Logger): Promise<string | undefined> {
  try {
    return await settleAtStart(host.ports);
  } catch (error) {
    log.error({ node: host.node, reason: messageOf(error) }, 'journal cannot be read');
    return undefined;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
