/** When failures stop a rollout. */

import type { ResolvedPolicy } from '../pool/types';
import { failureLimit } from './policy';

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
