/** Stands in for the rollout of a pool: records its messages, and stays open until it is told to end. */

import { condition, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import {
  startUpdate,
  wakeSignal,
  type PoolRolloutInput,
  type StepResult,
} from '../../../workflows/contracts/rollout';

export const toldQuery = defineQuery<string[]>('told');
export const endSignal = defineSignal('end');

export async function poolRollout(input: PoolRolloutInput): Promise<void> {
  const told = [`started ${JSON.stringify(input)}`];
  let ended = false;
  setHandler(toldQuery, () => told);
  setHandler(endSignal, () => {
    ended = true;
  });
  setHandler(wakeSignal, (news) => {
    told.push(`wake ${JSON.stringify(news)}`);
  });
  setHandler(startUpdate, ({ reason = '' }): StepResult => {
    told.push(`start: ${reason}`);
    return {
      ...{ state: 'Rolling', updated: '0 of 1', granted: [], grantedCount: 0 },
      ...{ lookAgainSeconds: 10, versions: {} },
    };
  });
  await condition(() => ended);
}
