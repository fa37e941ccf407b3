/**
 * What an earlier process, or the last boot, left of an update is settled when the worker starts. Where that fails (the
 * operating system does not answer, a path is in the way), it is tried until it holds: the kubelet waits for it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { closeOriginals, type Exclusive, type HostPorts, settleAtStart } from '../activities/host';
import { messageOf } from '../core/errors';
import { telling } from './host-log';
import type { Logger } from './logging';

const PAUSE_MS = 15_000;

/** What settling needs of a host. */
export interface SettlingHost {
  readonly node: string;
  /** All ports but those that belong to the running activity and to the loop. */
  readonly ports: Omit<HostPorts, 'reboot' | 'context' | 'now'>;
  /**
   * Everything that changes this host goes through it. One for the whole process: an activity that its
   * Temporal worker left behind may still be writing when the next connection is there.
   */
  readonly exclusive: Exclusive;
  /** Called when nothing is left to settle, and no reboot is due. */
  readonly onSettled?: () => void;
  /** Called with the reason when what is left could not be settled. */
  readonly onUnsettled?: (reason: string) => void;
}

/**
 * Settles what the last process left; returns why a reboot is due. What keeps it from that is reported, to
 * `host.onUnsettled`, too.
 *
 * @param said - what kept it from that the last time, and was logged then
 */
export async function settleHost(
  host: SettlingHost,
  log: Logger,
  said?: string,
): Promise<string | undefined> {
  const { node } = host;
  await closeCopies(host, log);
  try {
    const { what, reboot, foreign } = await host.exclusive(() =>
      settleAtStart({ ...host.ports, ...telling(node, log), now: () => new Date() }),
    );
    if (what !== undefined) log.warn({ node, what }, 'unfinished update settled');
    if (foreign !== undefined) log.error({ node, reason: foreign }, 'not the deployment it was');
    if (reboot === undefined) host.onSettled?.();
    return reboot;
  } catch (error) {
    const reason = messageOf(error);
    if (reason !== said) log.error({ node, reason }, 'unfinished update cannot be settled');
    host.onUnsettled?.(reason);
    return undefined;
  }
}

/** What MCO left open is closed at once, and not only with the next update. */
async function closeCopies({ node, exclusive, ports }: SettlingHost, log: Logger): Promise<void> {
  try {
    await exclusive(() => closeOriginals(ports.files));
  } catch (error) {
    log.warn({ node, reason: messageOf(error) }, 'cannot close the copies of originals');
  }
}

export interface SettlingAgain {
  /** Settling has failed for this reason. */
  failed(reason: string): void;
  /** It holds: nothing more is to be done. */
  holds(): void;
  /** An order has ended, which may have mended it. */
  look(): void;
}

/**
 * Settles again whenever it has failed: a quarter of a minute later, and after each order.
 *
 * @param settle - as `settleHost`, which tells of its failure; given what it was the last time
 * @param reboot - what settling took is done, but for this
 */
export function settlingAgain(
  settle: (said: string) => Promise<string | undefined>,
  reboot: (reason: string) => void,
  { signal, pauseMs = PAUSE_MS }: { readonly signal: AbortSignal; readonly pauseMs?: number },
): SettlingAgain {
  let reason: string | undefined;
  let isLooking = false;
  let isWaiting = false;

  async function look(): Promise<void> {
    if (reason === undefined || isLooking || signal.aborted) return;
    isLooking = true;
    const due = await settle(reason).finally(() => (isLooking = false));
    if (due === undefined) return;
    reason = undefined;
    reboot(due);
  }

  async function wait(): Promise<void> {
    if (isWaiting) return;
    isWaiting = true;
    while (reason !== undefined && !signal.aborted) {
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      await look();
    }
    isWaiting = false;
  }

  return {
    failed: (why) => {
      reason = why;
      void wait();
    },
    holds: () => {
      reason = undefined;
    },
    look: () => void look(),
  };
}
