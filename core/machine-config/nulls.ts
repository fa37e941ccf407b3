/** Null counts as absent, as for Go and the API server. */

import type { MachineConfig } from './types';

/** The MachineConfig without null fields in metadata and spec. */
export function withoutNulls(config: MachineConfig): MachineConfig {
  const { metadata, spec } = config;
  if (!hasNull(metadata) && !hasNull(spec)) return config;
  return { ...config, metadata: dropped(metadata), spec: dropped(spec) };
}

function hasNull(value: object): boolean {
  return Object.values(value).includes(null);
}

function dropped<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as T;
}
