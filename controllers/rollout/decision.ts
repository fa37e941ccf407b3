/** Whether a pool needs a rollout: a pure function of the cluster's objects. */

import { failureName, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { slotsOrNone } from '../../core/pool/capacity';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { resolvePolicy, waitForPerson, type PersonWait } from '../../core/rollout';
import { standingOf } from '../../core/rollout/standing';

export type RolloutDecision =
  /** No node is behind: an open rollout is informed, none is started. */
  | { readonly kind: 'settled' }
  /** A rollout to the target must be open. */
  | { readonly kind: 'roll'; readonly target: string; readonly behind: number }
  /** The same, but it begins nothing: it finishes what updates have begun, or takes it back. */
  | { readonly kind: 'finish'; readonly target: string }
  /** Until a person acts, an open rollout is informed and none is started. */
  | Wait;

interface Wait {
  readonly kind: 'wait';
  readonly target: string;
  readonly reason: PersonWait['reason'] | 'InvalidPool' | 'InvalidPolicy';
  readonly message: string;
}

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
  const target = pool.spec.configuration?.name ?? '';
  if (target === '' || pool.metadata.deletionTimestamp !== undefined) return { kind: 'settled' };
  const standings = nodes.map((node) => standingOf(node, { target }));
  const behind = standings.filter(({ is }) => is !== 'updated').length;
  const { invalid } = slotsOrNone(pool, nodes.length);
  if (behind === 0 && invalid === undefined) return { kind: 'settled' };
  try {
    const why = whyWait(pool, { target, behind, invalid }, policy);
    if (why === undefined) return { kind: 'roll', target, behind };
    const isBegun = standings.some(({ is }) => is === 'taken');
    return isBegun ? { kind: 'finish', target } : { kind: 'wait', target, ...why };
  } catch (error) {
    if (failureName(error) !== 'InvalidPolicy') throw error;
    return { kind: 'wait', target, reason: 'InvalidPolicy', message: messageOf(error) };
  }
}

/**
 * Why no update may begin; undefined = it may.
 *
 * @throws `InvalidPolicy`
 */
function whyWait(
  pool: MachineConfigPool,
  seen: { readonly target: string; readonly behind: number; readonly invalid: string | undefined },
  policy: RolloutPolicy | undefined,
): Pick<Wait, 'reason' | 'message'> | undefined {
  const { target, behind, invalid } = seen;
  if (invalid !== undefined) return { reason: 'InvalidPool', message: invalid };
  const wait = waitForPerson(pool, resolvePolicy(policy?.spec));
  if (wait === undefined) return undefined;
  const { reason, command } = wait;
  const left = `${behind === 1 ? '1 node is' : `${behind} nodes are`} not on ${target}`;
  const messages: Readonly<Record<PersonWait['reason'], string>> = {
    Paused: `pool ${pool.metadata.name} is paused; ${left}`,
    RolloutCancelled: `the rollout of ${target} was cancelled; start it again with: ${command}`,
    WaitingForTrigger: `${left}, and the pool waits for a person; start it with: ${command}`,
  };
  return { reason, message: messages[reason] };
}
