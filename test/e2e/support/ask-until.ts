/** Repeats commands until they answer as wanted: a rollout may know a change later than the cluster shows it. */

export interface CliRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const PATIENCE_MS = 90_000;

/**
 * Repeats a command until it answers as wanted.
 *
 * @throws Error with the last answer on timeout
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

export function retryNode(ask: () => Promise<CliRun>): Promise<CliRun> {
  return askUntil(ask, ({ err }) => !/is running already/.test(err));
}
