import type { Node } from '../../core/node/types';
import { isInService } from '../../core/rollout';
import type { WrittenNode } from '../../workflows/cluster-contracts';

/** What the reply to a write says, for whoever looks at an older picture later. */
export function written(node: Node): WrittenNode {
  return { inService: isInService(node), resourceVersion: node.metadata.resourceVersion ?? '' };
}
