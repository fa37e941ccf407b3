/** How many nodes of a pool have its pinned images, in the status of the pool. */

import { NodeCondition } from '../names';
import type { MachineConfigNode } from '../node/types';
import type { Condition } from '../object-meta';
import type { PoolStatus } from '../pool/status';
import type { MachineConfigPool } from '../pool/types';
import { hasSets, pinnedOfPool, type PinnedImageSet } from './pinned-images';
import { allThere, pinnedShown } from './report';

interface Counted {
  readonly pool: MachineConfigPool;
  readonly sets: readonly PinnedImageSet[];
  /** Of the nodes of the pool; one that has not reported yet lacks the images of its sets. */
  readonly nodes: readonly MachineConfigNode[];
}

/**
 * A node has the images when it says so of the list that its pool has now.
 *
 * @see MCO pkg/controller/node/status.go: ready and unavailable are those of the config
 */
export function withPinnedCounts(status: PoolStatus, counted: Counted): PoolStatus {
  const { pool, sets, nodes } = counted;
  const never = !hasSets(pool, sets);
  const done = allThere(pinnedOfPool(pool, sets).pinned);
  const { machineCount = 0, readyMachineCount = 0, unavailableMachineCount = 0 } = status;
  const available = machineCount - unavailableMachineCount;
  return {
    ...status,
    poolSynchronizersStatus: [
      {
        poolSynchronizerType: 'PinnedImageSets',
        machineCount,
        updatedMachineCount: nodes.filter((node) => hasImages(node, { never, done })).length,
        // The kind demands it.
        readyMachineCount: Math.min(readyMachineCount, available),
        availableMachineCount: available,
        unavailableMachineCount,
      },
    ],
  };
}

interface HavingThem {
  /** A node that never had pinned images has all. */
  readonly never: boolean;
  readonly done: string;
}

function hasImages(node: MachineConfigNode, { never, done }: HavingThem): boolean {
  const shown = pinnedShown(node);
  if (shown.length === 0) return never;
  const { PINNED_IMAGE_SETS_PROGRESSING, PINNED_IMAGE_SETS_DEGRADED } = NodeCondition;
  const isFalse = (wanted: NodeCondition): Condition | undefined =>
    shown.find(({ type, status }) => type === wanted && status === 'False');
  const progressing = isFalse(PINNED_IMAGE_SETS_PROGRESSING);
  return progressing?.message === done && isFalse(PINNED_IMAGE_SETS_DEGRADED) !== undefined;
}
