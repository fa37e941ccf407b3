/** When failures stop a rollout. */

import type { ResolvedPolicy } from '../pool/types';
import { failureLimit } from './policy';
import type { PoolView } from './view';

/**
 * Whether so many nodes failed on the config that no other node may try it. Nodes that a person told
 * to be tried again are not failed any more and must not be counted.
 */
export function halted(
  failedCount: number,
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
  machineCount: number,
): boolean {
  return failedCount >= failureLimit(policy, machineCount);
}

/** The same of a pool as it looks, apart from nodes that a person has just told it to try again. */
export function looksHalted(
  { failed, unheard, machineCount }: Pick<PoolView, 'failed' | 'unheard' | 'machineCount'>,
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
): boolean {
  return halted(failed.length - unheard.length, policy, machineCount);
}
