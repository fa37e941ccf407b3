import { failureName } from '../core/errors';
import { EXIT, exitCodeOfError } from './exit-codes';
import type { CliContext } from './ports';

/** A command that is silent for longer seems to hang. */
const SEEMS_TO_HANG_MS = 3_000;

/** Answers for rollouts. */
export const WORKER = 'a cluster worker';

/**
 * Waits for the answer; when it takes long, names on standard error who has to answer.
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

/** A server is away, or an API server that just started has not loaded its roles yet. */
export function isPassing(error: unknown): boolean {
  return exitCodeOfError(error) === EXIT.UNREACHABLE || failureName(error) === 'ApiForbidden';
}
