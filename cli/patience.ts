/** Waiting that says so. */

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
