/**
 * The main loop of a host: its Temporal worker runs until it should stop or the machine should
 * reboot. The reboot follows the worker's shutdown, so that the requesting activity is
 * acknowledged.
 */

import { Worker } from '@temporalio/worker';
import { withFailures } from '../../activities/failures';
import {
  createHostActivities,
  currentStep,
  withHeartbeats,
} from '../../activities/host/host-activities';
import { rebootIsDue } from '../../host/settle/settle-at-start';
import { messageOf } from '../../core/errors';
import { hostQueue } from '../../core/names';
import type { HostActivities } from '../../workflows/contracts/host';
import type { HostConnection } from './connection';
import { type DriftPlace, watchHostDrift } from './drift-watch';
import { logged } from './order-log';
import { signedOnly } from './signed-orders';
import type { Host } from '../../host/host';
import type { OrderKeyring } from '../../host/orders/read-order';
import { telling } from '../../host/log';
import { settleHost, type SettlingHost } from '../../host/settle/settle-again';
import type { Logger } from '../../process/logging';
import { endWhenRefused } from '../../process/temporal/refused-polls';
import { untilAvailable } from '../../process/until-available';
import { whenAborted } from '../../process/when-aborted';

const SHUTDOWN_GRACE = '20s';
const SHUTDOWN_FORCE = '30s';

/** Kept across connections. */
export interface LastReboot {
  /** Why the machine is still up; absent: no reboot was due. */
  problem?: string | undefined;
  /** Requests a reboot after running activities are acknowledged; absent: no worker is serving. */
  request?: ((reason: string) => void) | undefined;
}

/** A host without its Temporal worker. */
export interface ServedHost extends Host, SettlingHost {
  /** Shown in the Temporal UI. */
  readonly identity: string;
  readonly keyring: OrderKeyring;
  readonly lastReboot?: LastReboot;
  /** Absent: drift is not watched. */
  readonly drift?: Omit<DriftPlace, 'keyring'>;
  /** For simulations. */
  readonly around?: (activities: HostActivities) => HostActivities;
}

interface HostLoopOptions {
  readonly link: Pick<HostConnection, 'connection' | 'follow' | 'untilSetUp'>;
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Called before each poll starts. */
  readonly onPolling?: () => void;
  /** Limits concurrent starts and stops of workers. */
  readonly limit: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

export async function runHost(host: ServedHost, options: HostLoopOptions): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const watching =
    host.drift === undefined
      ? undefined
      : watchHostDrift(
          host.ports,
          { ...host.drift, keyring: host.keyring },
          {
            exclusive: host.exclusive,
            signal,
            log: options.log,
          },
        );
  try {
    await serveThroughReboots(host, options);
  } finally {
    ended.abort();
    await watching;
  }
}

async function serveThroughReboots(host: ServedHost, options: HostLoopOptions): Promise<void> {
  const { signal, log } = options;
  const wish: RebootWish = { stop: () => undefined };
  const { lastReboot = {} } = host;
  while (!signal.aborted) {
    // A machine that does not go down serves orders, and can then report why.
    if (lastReboot.problem === undefined) wish.reason ??= await settleHost(host, log);
    const serving = { ...options, wish, lastReboot };
    await untilAvailable(`Temporal queue of ${host.node}`, () => serve(host, serving), options);
    if (signal.aborted) return;
    const { reason } = wish;
    delete wish.reason;
    if (reason === undefined || !(await isStillDue(host, log))) continue;
    log.info({ node: host.node, reason }, 'rebooting');
    lastReboot.problem = await rebootHost(host, reason, options);
  }
}

/**
 * The worker carries out orders until it has ended, and a later one may have undone the update. If
 * that is not known, the machine reboots.
 */
async function isStillDue(host: ServedHost, log: Logger): Promise<boolean> {
  try {
    return await host.exclusive(() => rebootIsDue({ ...host.ports, now: () => new Date() }));
  } catch (error) {
    log.warn({ node: host.node, reason: messageOf(error) }, 'cannot check whether to reboot');
    return true;
  }
}

async function rebootHost(
  host: ServedHost,
  reason: string,
  { signal, log }: HostLoopOptions,
): Promise<string | undefined> {
  try {
    await host.reboot(reason, signal);
    return undefined;
  } catch (error) {
    if (signal.aborted) return undefined;
    log.error({ node: host.node, reason: messageOf(error) }, 'reboot did not happen');
    return messageOf(error);
  }
}

/** Outlives the Temporal workers, as an activity that was left behind does. */
interface RebootWish {
  reason?: string | undefined;
  stop: () => void;
}

interface Serving extends HostLoopOptions {
  readonly wish: RebootWish;
  readonly lastReboot: LastReboot;
}

async function serve(host: ServedHost, options: Serving): Promise<void> {
  const { signal, lastReboot, wish } = options;
  if (wish.reason !== undefined) return;
  const stop = new AbortController();
  wish.stop = () => stop.abort();
  const request = (why: string): void => {
    wish.reason = why;
    // Another request, which the next connection may answer.
    delete lastReboot.problem;
    wish.stop();
  };
  const ports = {
    ...host.ports,
    ...telling(host.node, options.log),
    now: () => new Date(),
    context: currentStep,
    reboot: { request, problem: () => lastReboot.problem },
  };
  const { link } = options;
  await link.untilSetUp(signal);
  const activities = createHostActivities(ports, host.exclusive);
  const around = host.around ?? ((inner: HostActivities) => inner);
  const obeying = signedOnly(logged(around(activities), options.log), {
    node: host.node,
    keyring: host.keyring,
    log: options.log,
  });
  const worker = await options.limit(() =>
    Worker.create({
      connection: link.connection,
      namespace: options.namespace,
      taskQueue: hostQueue(host.node),
      identity: host.identity,
      activities: withFailures(withHeartbeats(obeying)),
      // The host runs them one after the other: the second is accepted, and waits.
      maxConcurrentActivityTaskExecutions: 2,
      // One open poll per host; the SDK ignores `maxConcurrentActivityTaskPolls`.
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
      // A cancellation comes with the reply to a heartbeat.
      maxHeartbeatThrottleInterval: '2s',
      shutdownGraceTime: SHUTDOWN_GRACE,
      shutdownForceTime: SHUTDOWN_FORCE,
    }),
  );
  const unfollow = link.follow((connection) => {
    worker.connection = connection;
  });
  const stopping = AbortSignal.any([signal, stop.signal]);
  const throwIfRefused = endWhenRefused(worker, (reason) => {
    const fields = { node: host.node, reason: messageOf(reason) };
    options.log.warn(fields, 'the polls of this host failed; its worker ends');
    stop.abort();
  });
  options.onPolling?.();
  lastReboot.request = request;
  try {
    await worker.runUntil(whenAborted(stopping));
  } catch (error) {
    if (wish.reason === undefined) throw error;
    const { node } = host;
    options.log.warn({ node, reason: messageOf(error) }, 'worker did not stop in order');
  } finally {
    unfollow();
    delete lastReboot.request;
  }
  // Another worker takes its place, unless the machine is to reboot.
  if (wish.reason === undefined) throwIfRefused();
}
