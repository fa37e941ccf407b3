import { overrideText, type ImageOverride } from '../../core/machine-config';
import { PoolCondition } from '../../core/names';
import type { ConditionValue } from '../../core/pool/conditions';

/** Undefined = the pool has the images of the cluster, or the cluster names none. */
export function overriddenCondition(
  overrides: readonly ImageOverride[],
): (ConditionValue & { readonly message: string }) | undefined {
  if (overrides.length === 0) return undefined;
  return {
    type: PoolCondition.OS_IMAGE_OVERRIDDEN,
    status: 'True',
    reason: 'SetByMachineConfig',
    message: `${overrides.map(overrideText).join('; ')}; remove the field to have that of the cluster`,
  };
}
