/**
 * The worker settles what an earlier process or the last boot left. A failure is retried until it
 * succeeds, because the kubelet waits for it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { closeOriginals } from '../paths/originals';
import { settleAtStart } from './settle-at-start';
import { messageOf } from '../../core/errors';
import type { Host } from '../host';
import { type Log, telling } from '../log';

const PAUSE_MS = 15_000;

export interface SettlingHost extends Omit<Host, 'reboot'> {
  /** Nothing is left to settle, and no reboot is due. */
  readonly onSettled?: () => void;
  readonly onUnsettled?: (reason: string) => void;
}

/**
 * Returns why a reboot is due. A failure is logged and passed to `host.onUnsettled`.
 *
 * @param said - the last failure, which is logged already
 */
export async function settleHost(
  host: SettlingHost,
  log: Log,
  said?: string,
): Promise<string | undefined> {
  const { node } = host;
  await closeCopies(host, log);
  try {
    const { what, reboot, foreign } = await host.exclusive(() =>
      settleAtStart({ ...host.ports, ...telling(node, log), now: () => new Date() }),
    );
    if (what !== undefined) log.warn({ node, what }, 'unfinished update settled');
    if (foreign !== undefined)
      log.error({ node, reason: foreign }, 'a person booted another deployment');
    if (reboot === undefined) host.onSettled?.();
    return reboot;
  } catch (error) {
    const reason = messageOf(error);
    if (reason !== said) log.error({ node, reason }, 'unfinished update cannot be settled');
    host.onUnsettled?.(reason);
    return undefined;
  }
}

/** MCO left copies readable: not only the next update closes them. */
async function closeCopies({ node, exclusive, ports }: SettlingHost, log: Log): Promise<void> {
  try {
    await exclusive(() => closeOriginals(ports.files));
  } catch (error) {
    log.warn({ node, reason: messageOf(error) }, 'cannot close the copies of originals');
  }
}

interface SettlingAgain {
  failed(reason: string): void;
  holds(): void;
  /** An order may have fixed the failure. */
  look(): void;
}

/**
 * 15 seconds after a failure, and after each order.
 *
 * @param settle - as `settleHost`; given the last failure
 * @param reboot - settling is done, except for this
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
