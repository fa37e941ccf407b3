/**
 * MCO's exact choice of the next nodes of a pool. Slipway's deviations (retries, canary, grants) are
 * in `core/rollout/`.
 *
 * @see MCO pkg/controller/node/node_controller.go (7ff337a4)
 */

import { LABEL } from '../names';
import { isFailing, isReady, isUnavailable } from '../node/predicates';
import type { Node } from '../node/types';
import { isTargetedAtPool, type Layering } from './layering';
import type { MachineConfigPool } from './types';

interface CandidateSelection {
  /** In the order of the given nodes. */
  readonly candidates: readonly Node[];
  readonly capacity: number;
}

/** The nodes that count against maxUnavailable in MCO, in the given order. */
export function unavailableNodes(nodes: readonly Node[]): readonly Node[] {
  return nodes.filter(isUnavailable);
}

/**
 * The ready nodes whose target is not the pool's config (and image, where it is layered), and how
 * many of them may start. A node that failed on the pool's config costs capacity, twice when it is
 * unavailable, and a cordoned failed node is never a candidate.
 *
 * @param nodes - members of the pool
 * @param limit - `maxUnavailable` of the pool, as a number of nodes
 * @param layering - absent = the pool is not layered
 * @see MCO getAllCandidateMachines
 */
export function allCandidates(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  limit: number,
  layering?: Layering,
): CandidateSelection {
  const none: CandidateSelection = { candidates: [], capacity: 0 };
  const capacity = limit - unavailableNodes(nodes).length;
  if (capacity <= 0) return none;

  const candidates: Node[] = [];
  let failing = 0;
  for (const node of nodes) {
    if (isTargetedAtPool(node, pool, layering)) {
      if (isFailing(node)) failing += 1;
    } else if (isReady(node)) {
      candidates.push(node);
    }
  }
  if (failing >= capacity) return none;
  return { candidates, capacity: capacity - failing };
}

/**
 * The candidates that start now: all of them, unsorted, when the capacity suffices, otherwise the
 * first by zone and age.
 *
 * @see MCO updateCandidateMachines
 */
export function selectCandidates(selection: CandidateSelection): readonly Node[] {
  const { candidates, capacity } = selection;
  if (capacity >= candidates.length) return candidates;
  return sortByZoneAndAge(candidates).slice(0, capacity);
}

/**
 * Nodes with a zone first, by the zone's name; within a zone, and without one, the oldest first.
 * Equal nodes keep their order.
 *
 * @see MCO sortNodeList
 */
export function sortByZoneAndAge(nodes: readonly Node[]): Node[] {
  return nodes
    .map((node) => ({ node, place: placeOf(node) }))
    .sort((a, b) => comparePlaces(a.place, b.place))
    .map(({ node }) => node);
}

/** Sort keys, read once per node, because parsing a time in a comparison is slow. */
interface NodePlace {
  /** Absent = no zone label. */
  readonly zone?: string;
  /** Milliseconds; a node without a creation time is the oldest, as in Go. */
  readonly createdAt: number;
}

export function placeOf(node: Node): NodePlace {
  const zone = node.metadata.labels?.[LABEL.ZONE];
  const created = node.metadata.creationTimestamp;
  return {
    ...(zone === undefined ? {} : { zone }),
    createdAt: created === undefined ? -Infinity : Date.parse(created),
  };
}

export function comparePlaces(a: NodePlace, b: NodePlace): number {
  if (a.zone !== b.zone) {
    if (a.zone === undefined) return 1;
    if (b.zone === undefined) return -1;
    return a.zone < b.zone ? -1 : 1;
  }
  // A subtraction would give NaN for two nodes without a creation time.
  if (a.createdAt === b.createdAt) return 0;
  return a.createdAt < b.createdAt ? -1 : 1;
}
