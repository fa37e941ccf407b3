import { canonicalJson } from '../machine-config/canonical';

/** Compares the fields of `wanted`. The API server may change the order of conditions and of versions. */
export function statusDiffers(stored: object | undefined, wanted: object): boolean {
  const fields = Object.keys(wanted);
  const owned = Object.fromEntries(
    Object.entries(stored ?? {}).filter(([field]) => fields.includes(field)),
  );
  return comparable(owned) !== comparable(wanted);
}

function comparable(status: object): string {
  const { conditions = [], versions = [] } = status as {
    readonly conditions?: readonly { readonly type: string }[];
    readonly versions?: readonly { readonly name: string }[];
  };
  return canonicalJson({
    ...status,
    conditions: conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    versions: versions.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  });
}
