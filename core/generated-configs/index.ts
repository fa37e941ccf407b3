/** MachineConfigs that controllers generate from other objects. */

export { newest, recordOutcome, withOutcome } from './conditions';
export { baseName, generatedName, ofPool, prefixedName, selectedPools } from './names';
export { planRemoval, planSync, type Generated, type SyncPlan, type Write } from './sync';
export {
  CONTAINER_RUNTIME_CONFIG,
  KUBELET_CONFIG,
  type KnownConfig,
  type Origin,
  type OriginCondition,
  type OriginKind,
  type SelectedPool,
} from './types';
