/** rpm-ostree carries one transaction out at a time, and refuses whoever comes meanwhile. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fail, failureName, messageOf } from '../../../core/errors';
import type { StepContext } from './os-status';
import type { ProgramOptions, RunProgram } from './program';

const PAUSE_MS = 5_000;
/** Five minutes: an automatic update that somebody else's timer has begun takes that. */
const ATTEMPTS = 60;

/**
 * What its daemon answers then; a command that is the same as the one under way joins it instead.
 *
 * @see https://github.com/coreos/rpm-ostree src/daemon/rpmostreed-sysroot.cxx, prep_for_txn
 */
const BUSY = /\btransaction in progress\b/i;

export interface PatientOptions extends ProgramOptions {
  /** Hears, before each pause, what it waits for. */
  readonly onWaiting?: (sentence: string) => void;
}

export type RunPatiently = (
  program: string,
  words: readonly string[],
  options?: PatientOptions,
) => Promise<string>;

/** Between two tries; rejects when the signal aborts. */
export type Pause = (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;

const realTime: Pause = (ms, signal) => sleep(ms, undefined, { signal });

/**
 * Runs programs, and again for as long as somebody else's transaction is under way.
 *
 * @returns as `run`, which throws `OsCommandFailed` with the daemon's words when it stays so for five minutes
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
 * Looks until no transaction is under way. One that a process has begun which was killed since goes on in the daemon:
 * it changes what is decided on, and reads the packages that the next attempt would replace.
 *
 * @param transactionOf - the name of the one that a look shows
 * @returns the first look that shows none
 * @throws `OsCommandFailed` naming it, when it does not end in five minutes; what `look` throws
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
