/** rpm-ostree runs one transaction at a time and refuses others meanwhile. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fail, failureName, messageOf } from '../../../core/errors';
import type { StepContext } from './os-status';
import type { ProgramOptions, RunProgram } from './program';

const PAUSE_MS = 5_000;
/** Five minutes: an automatic update by a timer. */
const ATTEMPTS = 60;

/**
 * The command that is running joins the transaction instead.
 *
 * @see https://github.com/coreos/rpm-ostree src/daemon/rpmostreed-sysroot.cxx, prep_for_txn
 */
const BUSY = /\btransaction in progress\b/i;

interface PatientOptions extends ProgramOptions {
  /** Called before each pause. */
  readonly onWaiting?: (sentence: string) => void;
}

type RunPatiently = (
  program: string,
  words: readonly string[],
  options?: PatientOptions,
) => Promise<string>;

export type Pause = (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;

const realTime: Pause = (ms, signal) => sleep(ms, undefined, { signal });

/**
 * Repeats programs while another transaction runs.
 *
 * @returns as `run`, which throws `OsCommandFailed` with the daemon's words after five minutes
 */
export function untilFree(run: RunProgram, pause: Pause = realTime): RunPatiently {
  return async (program, words, { onWaiting, ...options } = {}) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await run(program, words, options);
      } catch (error) {
        if (!isBusy(error) || attempt >= ATTEMPTS) throw error;
        onWaiting?.(`waits for another transaction: ${messageOf(error)}`);
      }
      await pause(PAUSE_MS, options.signal);
    }
  };
}

/**
 * The transaction of a killed process goes on in the daemon, and uses packages that the next
 * attempt would replace.
 *
 * @param transactionOf - the name of the transaction in a status
 * @returns the first status without one
 * @throws `OsCommandFailed` naming the transaction after five minutes; what `look` throws
 */
export async function onceIdle<T>(
  look: () => Promise<T>,
  transactionOf: (seen: T) => string | undefined,
  { signal, progress }: StepContext,
  pause: Pause = realTime,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const seen = await look();
    const transaction = transactionOf(seen);
    if (transaction === undefined) return seen;
    if (attempt >= ATTEMPTS) {
      throw fail('OsCommandFailed', `rpm-ostree: transaction in progress: ${transaction}`);
    }
    progress(`waits for another transaction: ${transaction}`);
    await pause(PAUSE_MS, signal);
  }
}

function isBusy(error: unknown): boolean {
  return failureName(error) === 'OsCommandFailed' && BUSY.test(messageOf(error));
}
