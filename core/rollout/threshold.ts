/** When failures stop a rollout. */

import type { ResolvedPolicy } from '../pool/types';
import { failureLimit } from './policy';
import type { Member } from './standing';

/** It had failed, and its next try has not ended yet. */
export function isTriedOnceMore({ standing, isTriedAgain }: Member): boolean {
  return isTriedAgain && standing.is !== 'updated';
}

/**
 * Whether so many nodes failed on the config that no other node may try it. One that a person told
 * to be tried again counts until that has ended.
 */
export function looksHalted(
  members: readonly Member[],
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
): boolean {
  const counted = members.filter(
    (member) =>
      (member.standing.is === 'failed' && member.standing.counts) || isTriedOnceMore(member),
  );
  return counted.length >= failureLimit(policy, members.length);
}
