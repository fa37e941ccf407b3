import type { DatedLookup } from '../../../../activities/cluster/ports';

/** A picture of these objects that is complete and does not change; `silentMs` = how long no word has come. */
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
