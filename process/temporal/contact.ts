/** Checks whether Temporal answers: the SDK waits silently if it does not. */

import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { messageOf } from '../../core/errors';
import { ASK_AGAIN_MS, ASK_TIMEOUT_MS } from '../../core/machine/contact';

/** While no answer is needed: thousands of machines ask. */
const NOW_AND_THEN_MS = 60_000;

/**
 * gRPC codes that are no answer of Temporal: CANCELLED and UNKNOWN (a broken connection, or a
 * refused certificate in the native client), DEADLINE_EXCEEDED, UNAVAILABLE.
 */
const SILENT: ReadonlySet<unknown> = new Set([1, 2, 4, 14]);

export type Asked = Pick<ConnectionLike, 'workflowService' | 'withDeadline'>;

export interface ContactEvents {
  readonly onAnswer: () => void;
  readonly onSilence: (reason: string) => void;
  readonly isUrgent: () => boolean;
  /** @returns a function that stops this */
  readonly onUrgent?: (listener: () => void) => () => void;
}

/** Asks until the signal aborts; never throws. */
export async function watchContact(
  connection: Asked,
  signal: AbortSignal,
  { onAnswer, onSilence, isUrgent, onUrgent }: ContactEvents,
): Promise<void> {
  while (!signal.aborted) {
    const silence = await askTemporal(connection);
    if (signal.aborted) return;
    if (silence === undefined) onAnswer();
    else onSilence(silence);
    const woken = new AbortController();
    const forget = onUrgent?.(() => woken.abort());
    const isSoon = isUrgent() || silence !== undefined;
    await delay(isSoon ? ASK_AGAIN_MS : NOW_AND_THEN_MS, undefined, {
      signal: AbortSignal.any([signal, woken.signal]),
    }).catch(() => undefined);
    forget?.();
  }
}

/** @returns why there was no answer */
export async function askTemporal(connection: Asked): Promise<string | undefined> {
  try {
    await connection.withDeadline(Date.now() + ASK_TIMEOUT_MS, () =>
      connection.workflowService.getSystemInfo({}),
    );
    return undefined;
  } catch (error) {
    return isSilence(error) ? messageOf(error) : undefined;
  }
}

export function isSilence(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : 14;
  return SILENT.has(code);
}
