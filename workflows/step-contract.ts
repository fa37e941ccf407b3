/** What a rollout asks of its one activity. */

import type { RolloutState } from '../core/rollout/index';
import type { PictureVersions } from './cluster-contracts';

export interface StepInput {
  readonly pool: string;
  /** What the picture must show at least; a picture that is older would show things undone that were seen. */
  readonly atLeast?: PictureVersions;
}

/** At most 1 KiB: it is kept in the history once per step. */
export interface StepResult {
  readonly config?: string;
  readonly state: RolloutState;
  readonly blocker?: string;
  /** `12 of 200`. */
  readonly updated: string;
  /** The first of the nodes that got a grant, and how many. */
  readonly granted: readonly string[];
  readonly grantedCount: number;
  /** Absent = the rollout goes on. */
  readonly ended?: 'completed' | 'cancelled' | 'pool deleted';
  readonly lookAgainSeconds: number;
  readonly versions: PictureVersions;
}
