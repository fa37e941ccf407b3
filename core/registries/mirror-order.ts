/** containerd has one list of mirrors where CRI-O has one for digests and one for tags. */

import type { Endpoint } from './registries-conf';
import { topologicalOrder } from './topological';

/** Mirrors in one order that keeps the order of those for digests and of those for tags, if it can. */
export function oneOrder(mirrors: readonly Endpoint[]): {
  readonly mirrors: readonly Endpoint[];
  readonly areOrdered: boolean;
} {
  const isForTags = ({ pullFromMirror }: Endpoint): boolean => pullFromMirror === 'tag-only';
  const lists = [mirrors.filter(isForTags), mirrors.filter((mirror) => !isForTags(mirror))].map(
    (list) => list.map(({ location }) => location),
  );
  // An end that every list has keeps also a mirror that is alone in its list.
  const order = topologicalOrder(
    lists.flatMap((list) => list.map((place, i) => [place, list[i + 1] ?? ''] as const)),
  );
  const positionOf = (place: string): number => order.indexOf(place);
  return {
    mirrors: [...mirrors].sort((a, b) => positionOf(a.location) - positionOf(b.location)),
    areOrdered: lists.every((list) =>
      list.every((place, i) => i === 0 || positionOf(list[i - 1] ?? '') < positionOf(place)),
    ),
  };
}
