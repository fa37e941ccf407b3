/**
 * The bytes of a rendered config between server and host. Both sides of the digest (the cluster
 * worker that orders, the host that checks) use this function.
 */

import type { MachineConfig } from './types';

/**
 * `{"name":…,"spec":…}` as JSON with the keys of every object sorted by UTF-16 code unit and no
 * white space: equal configs give equal bytes in any order of the API server's answer.
 */
export function canonicalConfig(config: Pick<MachineConfig, 'metadata' | 'spec'>): string {
  return canonicalJson({ name: config.metadata.name, spec: config.spec });
}

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
