/** Fields of MCO's pools that are taken, so that its objects can be applied, and not acted upon. */

import type { MachineConfigPool } from './types';

/** Names of those below `spec` that say something. */
export function ignoredFields({ spec }: Pick<MachineConfigPool, 'spec'>): readonly string[] {
  return [
    ...((spec.osImageStream?.name ?? '') === '' ? [] : ['osImageStream']),
    ...((spec.pinnedImageSets ?? []).length === 0 ? [] : ['pinnedImageSets']),
  ];
}
