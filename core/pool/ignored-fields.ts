/** Fields of MCO's pools that Slipway accepts and does not act upon. */

import type { MachineConfigPool } from './types';

/** Names of those below `spec` that are set. */
export function ignoredFields({ spec }: Pick<MachineConfigPool, 'spec'>): readonly string[] {
  return [...((spec.pinnedImageSets ?? []).length === 0 ? [] : ['pinnedImageSets'])];
}
