import type { DatedLookup } from '../../../../activities/cluster/ports';

/** A complete and constant cache of these objects; `silentMs` = time since the last event. */
export function pictureOf<T extends { readonly metadata: { readonly name: string } }>(
  objects: readonly T[],
  silentMs = 0,
): DatedLookup<T> {
  return {
    ...{ synced: Promise.resolve(), newest: 0, silentMs },
    reached: () => Promise.resolve(true),
    get: (name) => objects.find(({ metadata }) => metadata.name === name),
    list: () => objects,
    subscribe: () => () => undefined,
  };
}
