/** How new a picture has to be. */

import { SEEN_KINDS, type SeenVersions } from '../contracts/rollout';

export function newest(one: SeenVersions, other: SeenVersions): SeenVersions {
  return versionsBy((kind) => Math.max(one[kind] ?? 0, other[kind] ?? 0));
}

/** Of a signal, which anybody may send: what is no version counts as none. */
export function readVersions(news: unknown): SeenVersions {
  const given = fieldsOf(fieldsOf(news)['atLeast']);
  return versionsBy((kind) => given[kind]);
}

function versionsBy(of: (kind: keyof SeenVersions) => unknown): SeenVersions {
  const found = SEEN_KINDS.flatMap((kind) => {
    const version = of(kind);
    const isVersion = typeof version === 'number' && Number.isSafeInteger(version) && version > 0;
    return isVersion ? [[kind, version] as const] : [];
  });
  return Object.fromEntries(found);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
