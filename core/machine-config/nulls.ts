/** Null is absent, as for Go and the API server: what an object of any origin says, and no more. */

import type { MachineConfig } from './types';

/** The same MachineConfig without the fields of its metadata and spec that are null. */
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
