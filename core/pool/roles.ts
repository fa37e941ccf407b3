/** Which MachineConfigs a pool takes, by the role in their label. */

import { LABEL } from '../names';
import { compileSelector } from '../selectors';
import type { MachineConfigPool } from './types';

/** A selector that is invalid or empty takes nothing: the render of the pool reports it. */
export function takesRole({ spec }: MachineConfigPool, role: string): boolean {
  try {
    const selector = compileSelector(spec.machineConfigSelector);
    return !selector.empty && selector.matches({ [LABEL.ROLE]: role });
  } catch {
    return false;
  }
}
