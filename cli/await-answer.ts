import { failureName } from '../core/errors';
import { EXIT, exitCodeOfError } from './exit-codes';
import type { CliContext } from './ports';

/** A longer silence looks like a hang. */
const SEEMS_TO_HANG_MS = 3_000;

export const WORKER = 'a cluster worker';

/**
 * Names on standard error who has to answer, when it takes long.
 *
 * @param whom - `WORKER`, or another name
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

/** A server is absent, or a starting API server has not loaded its roles. */
export function isPassing(error: unknown): boolean {
  return exitCodeOfError(error) === EXIT.UNREACHABLE || failureName(error) === 'ApiForbidden';
}
