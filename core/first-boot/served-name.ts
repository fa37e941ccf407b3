/** Which rendered config of a pool a new machine gets. */

import type { MachineConfigPool } from '../pool/types';

/**
 * The config that the pool goes to once a machine has proved it, until then the one that all of its
 * machines are on: a config that breaks machines does not break those that join.
 *
 * @returns undefined when the pool has none yet
 * @see MCO pkg/server/cluster_server.go (7ff337a4), GetConfig
 */
export function servedConfigName(pool: MachineConfigPool): string | undefined {
  const isProved = (pool.status?.updatedMachineCount ?? 0) > 0;
  const configuration = isProved ? pool.spec.configuration : pool.status?.configuration;
  return configuration?.name || undefined;
}
