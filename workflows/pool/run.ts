/** What a run of the rollout knows, and how it is asked for a step. */

import type { SeenVersions, StepResult } from '../contracts/rollout';
import { newest } from './versions';

/** What a run of the workflow knows. All else is in the cluster. */
export interface RolloutRun {
  readonly pool: string;
  /** Counts what asks for a step: `stepped` follows it. */
  asked: number;
  stepped: number;
  atLeast: SeenVersions;
  /** The last step's summary; undefined before the first. */
  last: StepResult | undefined;
  isCancelled: boolean;
}

/** Asks for a step whose picture shows this. */
export function ask(run: RolloutRun, versions: RolloutRun['atLeast']): void {
  run.atLeast = newest(run.atLeast, versions);
  run.asked += 1;
}
