/** The rendered config of a pool for a new machine. */

import type { MachineConfigPool } from '../pool/types';

/**
 * The target once a machine has verified it; before, the config that all machines of the pool are
 * on, so that a config that breaks machines does not break those that join. A status of an earlier
 * generation of the pool verifies nothing.
 *
 * @param proved - the config that an earlier status of this pool has verified; it stays verified
 * @returns undefined when the pool has none yet
 * @see MCO pkg/server/cluster_server.go (7ff337a4), GetConfig, which takes any count
 */
export function servedConfigName(pool: MachineConfigPool, proved?: string): string | undefined {
  const next = pool.spec.configuration?.name || undefined;
  const isProved = next !== undefined && (next === proved || provedConfigName(pool) === next);
  return isProved ? next : pool.status?.configuration?.name || undefined;
}

/** The target when the status, made for this generation of the pool, counts a machine on it. */
export function provedConfigName(pool: MachineConfigPool): string | undefined {
  const { observedGeneration, updatedMachineCount = 0 } = pool.status ?? {};
  const { generation = 0 } = pool.metadata;
  const isCurrent = (observedGeneration ?? generation) >= generation;
  return isCurrent && updatedMachineCount > 0
    ? pool.spec.configuration?.name || undefined
    : undefined;
}
