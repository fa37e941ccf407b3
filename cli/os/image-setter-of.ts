import { imageSetter, type MachineConfig } from '../../core/machine-config';
import type { MachineConfigPool } from '../../core/pool/types';
import type { CliOs } from './cluster-os';

/** The MachineConfigs of which the pool was rendered, as they are now. */
export async function sourcesOf(
  os: Pick<CliOs, 'machineConfig'>,
  { spec }: MachineConfigPool,
): Promise<readonly MachineConfig[]> {
  const names = (spec.configuration?.source ?? []).flatMap(({ name }) => name ?? []);
  const read = await Promise.all(names.map((name) => os.machineConfig(name)));
  return read.filter((config) => config !== undefined);
}

/** The MachineConfig of a person that decides the OS image of the pool. */
export async function imageSetterOf(
  os: Pick<CliOs, 'machineConfig'>,
  pool: MachineConfigPool,
): Promise<ReturnType<typeof imageSetter>> {
  return imageSetter(await sourcesOf(os, pool), 'osImageURL');
}
