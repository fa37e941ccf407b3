/**
 * Commit-confirm: a machine that has rebooted into an update and reaches nobody goes back by itself,
 * because the update may be what cut it off.
 */

import { uptime } from 'node:os';
import {
  awaitsConfirmation,
  confirmReached,
  goBackAlone,
  type HostPorts,
} from '../activities/host';
import { messageOf } from '../core/errors';
import type { Host } from './host-loop';
import type { Logger } from './logging';

/** A process that starts late, or starts again, gets this long to reach somebody all the same. */
const LEAST_SECONDS = 30;

/** What is left of the time that a machine has to reach Temporal after it has booted an update. */
export interface Confirmation {
  /** Fires when the time is over; absent = there is nothing to confirm. */
  readonly deadline?: AbortSignal;
  /** Temporal was reached: no deadline any more in this boot. Before anything else changes the host. */
  readonly reached: () => Promise<void>;
}

/**
 * Looks whether this boot is to be confirmed. The time counts from the boot, not from the start of
 * this process, so that one that crashes again and again does not wait for ever.
 *
 * @param seconds - unless the order of the reboot named another number
 */
export async function confirmation(
  host: Host,
  seconds: number,
  log: Logger,
  secondsUp: () => number = uptime,
): Promise<Confirmation> {
  const nothing: Confirmation = { reached: async () => undefined };
  try {
    const awaited = await awaitsConfirmation(host.ports);
    if (awaited === undefined) return nothing;
    const limit = awaited.reconnectSeconds ?? seconds;
    const left = Math.max(LEAST_SECONDS, limit - secondsUp());
    log.info({ node: host.node, seconds: Math.round(left) }, 'Temporal must be reached in time');
    return {
      deadline: AbortSignal.timeout(left * 1000),
      reached: () => noteReached(host, log),
    };
  } catch (error) {
    // A damaged journal: going back by itself is what it could not do anyway.
    log.error({ node: host.node, reason: messageOf(error) }, 'no way back without orders');
    return nothing;
  }
}

/** A note that is lost costs no more than another deadline after the next start. */
async function noteReached(host: Host, log: Logger): Promise<void> {
  try {
    await confirmReached(host.ports);
  } catch (error) {
    log.warn({ node: host.node, reason: messageOf(error) }, 'cannot note that Temporal answers');
  }
}

/** Takes the update back and boots what worked before. @throws `RollbackFailed` naming the path */
export async function goBackByItself(host: Host, signal: AbortSignal, log: Logger): Promise<void> {
  log.warn({ node: host.node }, 'Temporal out of reach after the update, going back');
  let reason = 'the update is taken back';
  const ports: HostPorts = {
    ...host.ports,
    now: () => new Date(),
    context: () => ({ signal, progress: () => undefined }),
    reboot: {
      request: (why) => {
        reason = why;
      },
    },
  };
  await goBackAlone(ports);
  await host.reboot(reason, signal);
}
