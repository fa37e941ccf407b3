/** Which nodes wait for a rollout that will drain them by itself, and in which order. */

import { isUpdatedTo } from '../node/predicates';
import type { Node } from '../node/types';
import type { ResolvedPolicy } from '../pool/types';
import { isAdopted, isBeingDeleted, takesSlot } from './availability';
import { looksHalted } from './threshold';
import { observePool, type PoolObservation } from './view';

/**
 * The nodes that are not on the target of a pool that rolls, next in line first; at last those that an update
 * has out of service already, or that are so by themselves: no pod goes there anyway.
 *
 * None of a pool that is paused, or that has failed so often that it waits for a person. Not a node that failed
 * on the target or is held for it, because nobody drains it; nor one that has yet to say what it is on. Whether a
 * person has to start the rollout, or has cancelled it, is asked elsewhere.
 */
export function nodesInLine(
  observation: PoolObservation,
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
): readonly Node[] {
  const view = observePool(observation);
  const { target, paused, invalid } = view;
  if (target === undefined || paused || invalid !== undefined) return [];
  if (looksHalted(view, policy)) return [];
  const nodes = new Map(observation.nodes.map((node) => [node.metadata.name, node]));
  const waiting = [...view.candidates, ...view.blocked]
    .flatMap(({ node }) => nodes.get(node) ?? [])
    .filter((node) => isAdopted(node) && !isBeingDeleted(node) && !isUpdatedTo(node, target));
  return [...waiting.filter((node) => !takesSlot(node)), ...waiting.filter(takesSlot)];
}

/** Several lines as one: the first of each, then the second of each, and so on. */
export function inTurns<T>(lines: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(0, ...lines.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) =>
    lines.flatMap((line) => line.slice(place, place + 1)),
  ).flat();
}
