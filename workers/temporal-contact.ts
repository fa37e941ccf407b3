/** Whether Temporal answers while a worker is connected: the SDK waits in silence when it does not. */

import { setTimeout as delay } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { messageOf } from '../core/errors';

/** While somebody waits for the answer: an update that is to be confirmed, whoever looks at `/readyz`. */
const SOON_MS = 5_000;
/** Otherwise, of thousands of machines; it is only what `slipway host status` shows. */
const NOW_AND_THEN_MS = 60_000;
const TIMEOUT_MS = 5_000;
/** While answers are waited for, a question begins and ends within this time of any moment. */
export const LONGEST_QUESTION_MS = TIMEOUT_MS + SOON_MS + TIMEOUT_MS;

/** Codes of gRPC that no server sent: DEADLINE_EXCEEDED and UNAVAILABLE. Any other is an answer. */
const SILENT: ReadonlySet<unknown> = new Set([4, 14]);

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
  connection: Pick<NativeConnection, 'withDeadline' | 'workflowService'>,
  signal: AbortSignal,
  { onAnswer, onSilence, isUrgent, onUrgent }: ContactEvents,
): Promise<void> {
  while (!signal.aborted) {
    const silence = await ask(connection);
    if (signal.aborted) return;
    if (silence === undefined) onAnswer();
    else onSilence(silence);
    const woken = new AbortController();
    const forget = onUrgent?.(() => woken.abort());
    const isSoon = isUrgent() || silence !== undefined;
    await delay(isSoon ? SOON_MS : NOW_AND_THEN_MS, undefined, {
      signal: AbortSignal.any([signal, woken.signal]),
    }).catch(() => undefined);
    forget?.();
  }
}

/** @returns why nothing was heard; undefined = there was an answer */
async function ask(
  connection: Pick<NativeConnection, 'withDeadline' | 'workflowService'>,
): Promise<string | undefined> {
  try {
    await connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
      connection.workflowService.getSystemInfo({}),
    );
    return undefined;
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : 14;
    return SILENT.has(code) ? messageOf(error) : undefined;
  }
}
