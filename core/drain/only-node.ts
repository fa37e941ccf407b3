/**
 * A cluster with exactly one Node: what is evicted there has nowhere to go. A budget would hold up the drain for ever, and
 * what orders it, Slipway and Temporal, would be evicted with the rest. So nothing is drained, and nothing cordoned: pods
 * that a shutdown ends may be replaced by others, which must find a node.
 *
 * @see MCO pkg/daemon/drain.go, performDrain (7ff337a4), which asks for the topology of the control plane instead
 */

import type { Node } from '../node/types';

/** As phases, Events and the plan say it. */
export const NO_DRAIN =
  'no drain: the only node of the cluster, so its pods stay until the machine shuts down';

/** @param nodes - all of the cluster */
export function isOnlyNode(name: string, nodes: readonly Pick<Node, 'metadata'>[]): boolean {
  return nodes.length === 1 && nodes[0]?.metadata.name === name;
}
