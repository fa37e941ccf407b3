/** Whether a pool needs a rollout: a pure function of the cluster's objects. */

import { failureName, messageOf } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import type { Node } from '../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { observePool, resolvePolicy, type RolloutCandidate } from '../../core/rollout';

export type RolloutDecision =
  /** No node is behind: an open rollout is informed, none is started. */
  | { readonly kind: 'settled' }
  /** A rollout to the target must be open. */
  | { readonly kind: 'roll'; readonly target: string; readonly behind: number }
  /** Until a person acts, an open rollout is informed and none is started. */
  | {
      readonly kind: 'wait';
      readonly target: string;
      readonly reason:
        'Paused' | 'WaitingForTrigger' | 'RolloutCancelled' | 'InvalidPool' | 'InvalidPolicy';
      readonly message: string;
    };

interface RolloutObservation {
  readonly pool: MachineConfigPool;
  readonly nodes: readonly Node[];
  readonly policy?: RolloutPolicy;
}

/**
 * Decides as the rollout does, from the cluster alone, so that a rollout that Temporal has lost is
 * started again.
 */
export function decideRollout({ pool, nodes, policy }: RolloutObservation): RolloutDecision {
  const { name } = pool.metadata;
  const target = pool.spec.configuration?.name ?? '';
  if (target === '' || pool.metadata.deletionTimestamp !== undefined) return { kind: 'settled' };
  const wait = (
    reason: Extract<RolloutDecision, { kind: 'wait' }>['reason'],
    message: string,
  ): RolloutDecision => ({ kind: 'wait', target, reason, message });
  try {
    const view = observePool({ pool, nodes });
    const behind = view.machineCount - view.updated.length;
    const { invalid } = view;
    if (behind === 0)
      return invalid === undefined ? { kind: 'settled' } : wait('InvalidPool', invalid);
    const { trigger } = resolvePolicy(policy?.spec);
    const { annotations } = pool.metadata;
    const isCancelled = annotations?.[ANNOTATION.ROLLOUT_CANCELLED] === target;
    const isStarted = trigger !== 'Manual' || annotations?.[ANNOTATION.ROLLOUT_STARTED] === target;
    // Then a rollout completes lost updates and starts nothing else.
    const mayFinish = isStarted && !isCancelled && view.candidates.some(isUnfinished);
    if (invalid !== undefined && !mayFinish) return wait('InvalidPool', invalid);
    if (view.paused && !mayFinish) {
      return wait('Paused', `pool ${name} is paused; ${count(behind)} on ${target}`);
    }
    if (isCancelled) {
      return wait(
        'RolloutCancelled',
        `the rollout of ${target} was cancelled; start it again with: slipway rollout start ${name}`,
      );
    }
    if (!isStarted) {
      return wait(
        'WaitingForTrigger',
        `${count(behind)} on ${target}, and the pool waits for a person; ` +
          `start it with: slipway rollout start ${name}`,
      );
    }
    return { kind: 'roll', target, behind };
  } catch (error) {
    if (failureName(error) !== 'InvalidPolicy') throw error;
    return wait('InvalidPolicy', messageOf(error));
  }
}

function isUnfinished({ unfinished }: RolloutCandidate): boolean {
  return unfinished === true;
}

function count(behind: number): string {
  return behind === 1 ? '1 node is not' : `${behind} nodes are not`;
}
