/** Whose MachineConfigs are generated, and from which folders of the templates. */

import { BUILT_IN_POOLS } from '../names';
import { takesRole } from '../pool/roles';
import type { MachineConfigPool } from '../pool/types';

export interface TemplatePool {
  readonly name: string;
  /** What the templates see: pools of any other name are workers. */
  readonly role: string;
  /** Folders, the most general first. */
  readonly roles: readonly string[];
}

/**
 * A custom pool that selects the MachineConfigs of workers has those of worker, and beside them only
 * what the folder of its own name holds: a copy of its own would win over what KubeletConfigs
 * generate for workers (docs/adr/0038).
 */
export function templatePools(pools: readonly MachineConfigPool[]): readonly TemplatePool[] {
  const found = pools.flatMap((pool): readonly TemplatePool[] => {
    const { name } = pool.metadata;
    if (BUILT_IN_POOLS.includes(name)) return [{ name, role: name, roles: ['common', name] }];
    if (!takesRole(pool, name)) return [];
    const isWorker = takesRole(pool, 'worker');
    return [{ name, role: 'worker', roles: isWorker ? [name] : ['common', 'worker', name] }];
  });
  const isThere = found.some(({ name }) => name === 'worker');
  if (isThere || !pools.some((pool) => takesRole(pool, 'worker'))) return found;
  return [...found, { name: 'worker', role: 'worker', roles: ['common', 'worker'] }];
}
