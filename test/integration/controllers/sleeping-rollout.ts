/** The rollout of another version: no history of `waiting-rollout` fits it. */

import { setHandler, sleep } from '@temporalio/workflow';
import { retargetUpdate, type RolloutProgress } from '../../../workflows/messages';

export async function poolRollout(): Promise<void> {
  setHandler(retargetUpdate, () => ({}) as RolloutProgress);
  await sleep('1 hour');
}
