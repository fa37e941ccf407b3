import { lastByUser, type ImageField } from './image-overrides';
import { inMergeOrder } from './merge';
import type { MachineConfig } from './types';

/**
 * The MachineConfig of a person that decides the image of a pool; undefined = none does.
 *
 * @param sources - of the pool, in any order
 * @throws InvalidMachineConfig for one without labels
 */
export function imageSetter(
  sources: readonly MachineConfig[],
  field: ImageField,
): ReturnType<typeof lastByUser> {
  const named = sources.map((machineConfig) => ({
    name: machineConfig.metadata.name,
    machineConfig,
  }));
  return lastByUser(inMergeOrder(named), field);
}
