import type { Node } from '../../core/node/types';
import { isInService } from '../../core/rollout';
import type { WrittenNode } from '../../workflows/contracts/cluster';

/** The reply to a write, for later readers of an older cache. */
export function written(node: Node): WrittenNode {
  return { inService: isInService(node), resourceVersion: node.metadata.resourceVersion ?? '' };
}
