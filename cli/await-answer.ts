/** Waiting that says so. */

import { failureName } from '../core/errors';
import { EXIT, exitCodeOfError } from './exit-codes';
import type { CliContext } from './ports';

/** What takes longer than this seems to hang. */
const SEEMS_TO_HANG_MS = 3_000;

/** Who answers for a rollout. */
export const WORKER = 'a cluster worker';

/**
 * Waits for the answer, and says on standard error whom for when it takes long.
 *
 * @param whom - `WORKER`, or another in words
 */
export async function awaitAnswer<T>(
  context: CliContext,
  whom: string,
  answer: Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => {
    context.terminal.err.write(`waiting for ${whom} to answer; Ctrl-C gives up\n`);
  }, SEEMS_TO_HANG_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}

/** Somebody is away, or an API server that has just started has not loaded its roles yet. */
export function isPassing(error: unknown): boolean {
  return exitCodeOfError(error) === EXIT.UNREACHABLE || failureName(error) === 'ApiForbidden';
}
