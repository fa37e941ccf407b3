/** rpm-ostree carries one transaction out at a time, and refuses whoever comes meanwhile. */

import { setTimeout as sleep } from 'node:timers/promises';
import { failureName, messageOf } from '../../../core/errors';
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

/**
 * Runs programs, and again for as long as somebody else's transaction is under way.
 *
 * @param pause - rejects when the signal aborts
 * @returns as `run`, which throws `OsCommandFailed` with the daemon's words when it stays so for five minutes
 */
export function untilFree(
  run: RunProgram,
  pause: (ms: number, signal: AbortSignal | undefined) => Promise<unknown> = (ms, signal) =>
    sleep(ms, undefined, { signal }),
): RunPatiently {
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

function isBusy(error: unknown): boolean {
  return failureName(error) === 'OsCommandFailed' && BUSY.test(messageOf(error));
}
