/** When failures stop a rollout. */

import type { ResolvedPolicy } from '../pool/types';
import { failureLimit } from './policy';
import type { Member } from './standing';

/**
 * Whether so many nodes failed on the config that no other node may try it. One that a person told
 * to be tried again counts until that has ended.
 */
export function halted(
  failedCount: number,
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
  machineCount: number,
): boolean {
  return failedCount >= failureLimit(policy, machineCount);
}

/** Those that count: failed on the config, or tried again after that until the try has ended. */
export function countedFailures(members: readonly Member[]): number {
  return members.filter(
    (member) =>
      (member.standing.is === 'failed' && member.standing.counts) || isTriedOnceMore(member),
  ).length;
}

/** It had failed, and its next try has not ended yet. */
export function isTriedOnceMore({ standing, isTriedAgain }: Member): boolean {
  return isTriedAgain && standing.is !== 'updated';
}

/** The same of a pool as it looks. */
export function looksHalted(
  members: readonly Member[],
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
): boolean {
  return halted(countedFailures(members), policy, members.length);
}
