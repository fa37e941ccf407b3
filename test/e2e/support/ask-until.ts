/** Commands that are right a moment later: what a person sees may be ahead of what a rollout has heard. */

/** How a run of the CLI ended. */
export interface CliRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A question that is asked again and again is answered as wanted before then. */
const PATIENCE_MS = 90_000;

/**
 * Runs a command again until it answers as wanted.
 *
 * @throws Error with the last answer when none is as wanted
 */
export async function askUntil(
  ask: () => Promise<CliRun>,
  isWanted: (run: CliRun) => boolean,
): Promise<CliRun> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const run = await ask();
    if (isWanted(run)) return run;
    if (performance.now() < deadline) continue;
    throw new Error(`slipway ended with ${run.code}\n${run.out}${run.err}`);
  }
}

/** Has a failed or held node tried again, once its last update has ended for the rollout, too. */
export function retryNode(ask: () => Promise<CliRun>): Promise<CliRun> {
  return askUntil(ask, ({ err }) => !/is running already/.test(err));
}
