/** How many nodes of a pool have its pinned images, in the status of the pool. */

import { NodeCondition } from '../names';
import type { MachineConfigNode } from '../node/types';
import type { PoolStatus } from '../pool/status';
import { pinnedShown } from './report';

/**
 * @param isPinned - it has PinnedImageSets; a node that has not reported yet lacks their images
 * @param nodes - those of the nodes of the pool
 * @see MCO pkg/controller/node/status.go: ready and unavailable are those of the config
 */
export function withPinnedCounts(
  status: PoolStatus,
  isPinned: boolean,
  nodes: readonly MachineConfigNode[],
): PoolStatus {
  const { machineCount = 0, readyMachineCount = 0, unavailableMachineCount = 0 } = status;
  const available = machineCount - unavailableMachineCount;
  return {
    ...status,
    poolSynchronizersStatus: [
      {
        poolSynchronizerType: 'PinnedImageSets',
        machineCount,
        updatedMachineCount: nodes.filter((node) => hasImages(node, isPinned)).length,
        // The kind demands it.
        readyMachineCount: Math.min(readyMachineCount, available),
        availableMachineCount: available,
        unavailableMachineCount,
      },
    ],
  };
}

function hasImages(node: MachineConfigNode, isPinned: boolean): boolean {
  const shown = pinnedShown(node);
  if (shown.length === 0) return !isPinned;
  const { PINNED_IMAGE_SETS_PROGRESSING, PINNED_IMAGE_SETS_DEGRADED } = NodeCondition;
  return [PINNED_IMAGE_SETS_PROGRESSING, PINNED_IMAGE_SETS_DEGRADED].every((type) =>
    shown.some((condition) => condition.type === type && condition.status === 'False'),
  );
}
