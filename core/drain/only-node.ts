/**
 * A cluster with exactly one Node is neither drained nor cordoned: evicted pods have no other node,
 * so a budget would hold up the drain for ever, and Slipway and Temporal would be evicted, too.
 *
 * @see MCO pkg/daemon/drain.go, performDrain (7ff337a4), which asks for the topology of the control
 * plane instead
 */

import type { Node } from '../node/types';

/** For phases, Events and the plan. */
export const NO_DRAIN =
  'no drain: the only node of the cluster, so its pods stay until the machine shuts down';

/** @param nodes - all of the cluster */
export function isOnlyNode(name: string, nodes: readonly Pick<Node, 'metadata'>[]): boolean {
  return nodes.length === 1 && nodes[0]?.metadata.name === name;
}
