/** How new a picture has to be. */

import type { SeenVersions } from '../contracts/rollout';

const KINDS = ['nodes', 'pools', 'policies', 'machineConfigNodes'] as const;

export function newest(one: SeenVersions, other: SeenVersions): SeenVersions {
  const versions = KINDS.flatMap((kind) => {
    const version = Math.max(one[kind] ?? 0, other[kind] ?? 0);
    return version === 0 ? [] : [[kind, version] as const];
  });
  return Object.fromEntries(versions);
}

/** Of a signal, which anybody may send: what is no version counts as none. */
export function readVersions(news: unknown): SeenVersions {
  const given = fieldsOf(fieldsOf(news)['atLeast']);
  const versions = KINDS.flatMap((kind) => {
    const version = given[kind];
    const isVersion = typeof version === 'number' && Number.isSafeInteger(version) && version > 0;
    return isVersion ? [[kind, version] as const] : [];
  });
  return Object.fromEntries(versions);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
