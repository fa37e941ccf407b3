/** Problems of some of a pool's MachineConfigs together, while the rest is missing or faulty. */

import { failureName } from '../../core/errors';
import {
  admissionProblems,
  type AdmissionProblem,
  type MachineConfig,
} from '../../core/machine-config';
import type { MachineConfigPool } from '../../core/pool/types';
import { renderPool } from '../render/render-pool';
import { renderPorts } from '../render/render-ports';
import { renderedObject } from '../render/rendered-object';
import type { OfflineCheck } from './check';
import { attempt, reportProblems } from './failures';

/**
 * So that a person learns of all problems at once. What the rest may bring (contents of a file, a
 * base to compare with) is not reported as missing.
 */
export function reportSound(
  sources: readonly MachineConfig[],
  pool: MachineConfigPool,
  { view, version, findings }: OfflineCheck,
): void {
  const sound = sources.filter((source) => admissionProblems([source], renderPorts).length === 0);
  const error = failureOf(sound, pool, { view, version });
  if (error === undefined) return;
  const { details } = error as {
    details?: { problems?: readonly AdmissionProblem[]; machineConfig?: string };
  };
  reportProblems(details?.problems ?? [], view, findings);
  const written = view.written('MachineConfig', details?.machineConfig ?? '');
  if (written !== undefined) attempt(() => rethrown(error), written, findings);
}

/** A too large part makes the whole too large. */
export function reportTooLarge(
  sources: readonly MachineConfig[],
  pool: MachineConfigPool,
  { view, version, findings }: OfflineCheck,
): void {
  const error = failureOf(sources, pool, { view, version });
  const written = view.written('MachineConfig', largestOf(sources));
  // Objects outside the manifests may fix any other failure.
  if (failureName(error) !== 'ConfigTooLarge' || written === undefined) return;
  attempt(() => rethrown(error), written, findings);
}

/** As a fresh pool; undefined = they can be rendered alone. */
function failureOf(
  sources: readonly MachineConfig[],
  pool: MachineConfigPool,
  { view, version }: Pick<OfflineCheck, 'view' | 'version'>,
): unknown {
  if (sources.length === 0) return undefined;
  const machineConfigs = { get: () => undefined, list: () => sources };
  try {
    const render = renderPool({ ...view, machineConfigs }, pool, version);
    if (render !== undefined) renderedObject(render.rendered, pool);
    return undefined;
  } catch (error) {
    if (failureName(error) === undefined) throw error;
    return error;
  }
}

function rethrown(error: unknown): never {
  throw error;
}

function largestOf(configs: readonly MachineConfig[]): string {
  const sizes = configs.map((config) => JSON.stringify(config.spec).length);
  return configs[sizes.indexOf(Math.max(...sizes))]?.metadata.name ?? '';
}
