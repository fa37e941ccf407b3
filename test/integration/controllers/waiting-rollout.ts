/** Stands in for the rollout of a pool: records its messages, and stays open until it is told to end. */

import { condition, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import {
  clusterChangedSignal,
  retargetUpdate,
  type PoolRolloutInput,
  type RolloutProgress,
} from '../../../workflows/messages';

export const toldQuery = defineQuery<string[]>('told');
export const endSignal = defineSignal('end');

export async function poolRollout(input: PoolRolloutInput): Promise<void> {
  const told: string[] = [];
  let ended = false;
  setHandler(toldQuery, () => told);
  setHandler(endSignal, () => {
    ended = true;
  });
  setHandler(
    retargetUpdate,
    ({ config, versions }) => {
      told.push(`retarget ${input.pool} ${config} ${JSON.stringify(versions)}`);
      return {} as RolloutProgress;
    },
    {
      validator: ({ config }) => {
        if (config === 'refused') throw new Error('it is ending');
      },
    },
  );
  setHandler(clusterChangedSignal, ({ reason, versions }) => {
    told.push(`wake: ${reason} ${JSON.stringify(versions)}`);
  });
  await condition(() => ended);
}
