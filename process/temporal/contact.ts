/** Whether Temporal answers while a worker is connected: the SDK waits in silence when it does not. */

import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { messageOf } from '../../core/errors';
import { ASK_AGAIN_MS, ASK_TIMEOUT_MS } from '../../core/machine/contact';

/** While nobody waits for the answer, of thousands of machines; it is only what `slipway host status` shows. */
const NOW_AND_THEN_MS = 60_000;

/**
 * Codes of gRPC that Temporal does not send to this question: CANCELLED and UNKNOWN (the connection broke:
 * so the native client says that a certificate is refused), DEADLINE_EXCEEDED and UNAVAILABLE. Any other is
 * an answer.
 */
const SILENT: ReadonlySet<unknown> = new Set([1, 2, 4, 14]);

/** What a question goes through. */
export type Asked = Pick<ConnectionLike, 'workflowService' | 'withDeadline'>;

export interface ContactEvents {
  /** Temporal answered, whatever it said. */
  readonly onAnswer: () => void;
  /** It did not, and why. */
  readonly onSilence: (reason: string) => void;
  /** Whether the answers are waited for. */
  readonly isUrgent: () => boolean;
  /** Calls when they begin to be. @returns what ends that */
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

/** @returns why nothing was heard; undefined = there was an answer */
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

/** Whether no server sent this failure of a call. */
export function isSilence(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : 14;
  return SILENT.has(code);
}
