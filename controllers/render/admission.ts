/** Strict admission of MachineConfigs, each checked once. */

import {
  admissionProblems,
  refuseInadmissible,
  type MachineConfig,
} from '../../core/machine-config';
import { renderPorts } from './render-ports';

/**
 * Without problems alone, and so among others: the one rule across several (a file whose contents
 * another brings) only removes problems.
 */
const admitted = new WeakSet<MachineConfig>();

/**
 * Names every MachineConfig, field and fix.
 *
 * @param sources - the same object for the same MachineConfig, as from `selectSources`
 * @throws `InvalidMachineConfig`
 */
export function refuseUnlessAdmitted(sources: readonly MachineConfig[]): void {
  const doubtful = sources.filter((source) => !isFineAlone(source));
  if (doubtful.length > 0) refuseInadmissible(sources, renderPorts);
}

function isFineAlone(source: MachineConfig): boolean {
  if (admitted.has(source)) return true;
  if (admissionProblems([source], renderPorts).length > 0) return false;
  admitted.add(source);
  return true;
}
