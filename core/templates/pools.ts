/** Whose MachineConfigs are generated, and from which folders of the templates. */

import { BUILT_IN_POOLS, LABEL } from '../names';
import type { MachineConfigPool } from '../pool/types';
import { compileSelector, type CompiledSelector } from '../selectors';

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
    const selector = selectorOf(pool);
    if (selector?.matches({ [LABEL.ROLE]: name }) !== true) return [];
    const isWorker = selector.matches({ [LABEL.ROLE]: 'worker' });
    return [{ name, role: 'worker', roles: isWorker ? [name] : ['common', 'worker', name] }];
  });
  const needsWorker = pools.some(({ metadata }) => !['master', 'arbiter'].includes(metadata.name));
  const hasWorker = found.some(({ name }) => name === 'worker');
  // KubeletConfigs of custom pools are merged into the file of worker.
  const worker = { name: 'worker', role: 'worker', roles: ['common', 'worker'] };
  return needsWorker && !hasWorker ? [...found, worker] : found;
}

/** Undefined = invalid, or of everything: the render of the pool reports it. */
function selectorOf({ spec }: MachineConfigPool): CompiledSelector | undefined {
  try {
    const selector = compileSelector(spec.machineConfigSelector);
    return selector.empty ? undefined : selector;
  } catch {
    return undefined;
  }
}
