import { ANNOTATION } from '../names';
import type { MachineConfigPool } from '../pool/types';

/** A person has cancelled the rollout of the config that the pool has: it does not start by itself. */
export function isTargetCancelled({ metadata, spec }: MachineConfigPool): boolean {
  const cancelled = metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED];
  return cancelled !== undefined && cancelled === spec.configuration?.name;
}
