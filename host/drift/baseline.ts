/** The expected state of a disk, with digests instead of contents. */

import { posix } from 'node:path';
import type { RenderedSpec } from '../../core/machine-config/types';
import type { ConfigReference } from '../../workflows/contracts/host';
import { wantedOnHost } from '../paths/appended';
import { NOT_COMPARED } from './compare';
import { type ExpectedPath, expectedAt } from './difference';
import type { Files } from '../ports';
import type { HostConfig } from '../records/configs';
import { UNIT_DIRECTORY } from '../paths/wanted-paths';

export interface DriftBaseline {
  readonly reference: ConfigReference;
  readonly paths: ReadonlyMap<string, ExpectedPath>;
  /** Unit → whether it should be enabled. */
  readonly units: ReadonlyMap<string, boolean>;
  readonly spec: Pick<RenderedSpec, 'osImageURL' | 'kernelArguments' | 'kernelType' | 'extensions'>;
}

export async function baselineOf(
  files: Files,
  { reference, spec }: HostConfig,
): Promise<DriftBaseline> {
  const paths = new Map<string, ExpectedPath>();
  for await (const [path, wanted] of wantedOnHost(files, spec)) {
    if (!NOT_COMPARED.includes(path)) paths.set(path, expectedAt(wanted));
  }
  const units = new Map<string, boolean>();
  for (const unit of spec.config.systemd?.units ?? []) {
    if (unit.enabled !== undefined && unit.mask !== true) units.set(unit.name, unit.enabled);
  }
  const { osImageURL, kernelArguments, kernelType, extensions } = spec;
  return { reference, paths, units, spec: { osImageURL, kernelArguments, kernelType, extensions } };
}

/** Directories whose links enable units. */
export function enablementDirectories(names: readonly string[]): readonly string[] {
  const wants = names.filter((name) => /\.(wants|requires|upholds)$/.test(name));
  return [UNIT_DIRECTORY, ...wants.map((name) => posix.join(UNIT_DIRECTORY, name))];
}
