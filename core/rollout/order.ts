/** In which order nodes get their turn: what is broken or new first, then MCO's order by zone and age. */

import { comparePlaces, placeOf } from '../pool/candidates';
import { isDegraded } from '../node/predicates';
import type { Node } from '../node/types';
import { isAdopted, servesHalfDone } from './availability';

/** A node that may be updated, as far as its order is concerned. */
export interface Orderable {
  readonly node: Node;
  /** Already unavailable because of an unfinished or failed update: takes no new slot. */
  readonly repair: boolean;
  /** Its host has never been heard (`isUnheard`). */
  readonly unheard?: boolean;
}

/**
 * Repairs first, because they cost no slot and give one back; then nodes that serve half done, because the
 * others may wait for one of them as their canary; then nodes that joined and have never had a config: most
 * came with the pool's and only have to be asked, and the others have the least to lose. Then nodes that report a failure but are in service; then all others. Last those whose host worker nobody has
 * heard of yet: waiting for one that may never come takes as long as a host may be away, and the others
 * would wait with it. In each group by zone and age as in MCO, at last by name, so that equal clusters give
 * equal orders.
 */
export function orderCandidates<T extends Orderable>(candidates: readonly T[]): T[] {
  return candidates
    .map((candidate) => ({
      candidate,
      urgency: urgencyOf(candidate),
      place: placeOf(candidate.node),
    }))
    .sort(
      (a, b) =>
        a.urgency - b.urgency ||
        comparePlaces(a.place, b.place) ||
        compareNames(a.candidate.node, b.candidate.node),
    )
    .map(({ candidate }) => candidate);
}

function urgencyOf({ node, repair, unheard }: Orderable): number {
  if (repair) return 0;
  if (servesHalfDone(node)) return 1;
  if (unheard === true) return 5;
  if (!isAdopted(node)) return 2;
  return isDegraded(node) ? 3 : 4;
}

function compareNames(a: Node, b: Node): number {
  if (a.metadata.name === b.metadata.name) return 0;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
