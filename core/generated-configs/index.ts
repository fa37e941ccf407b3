/** MachineConfigs that controllers generate from other objects. */

export { baseFile, fileIn, roleOf, type BaseFile } from './base-file';
export { newest, recordOutcome, withOutcome } from './conditions';
export { forAll, type Due } from './for-all';
export { lookAtOrigins, type GeneratedObject } from './look';
export {
  bootstrapOwner,
  fileContents,
  generatedFile,
  generatedMachineConfig,
  generatedSpec,
  originOwner,
  type GeneratedContent,
  type GeneratedFile,
} from './machine-config';
export { baseName, generatedName, legacyName, ofPool, selectedPools } from './names';
export { storedConfig, type ConfigWrite } from './stored-config';
export { planRemoval, planSync, type Generated, type SyncPlan, type Write } from './sync';
export {
  CONTAINER_RUNTIME_CONFIG,
  KUBELET_CONFIG,
  type KnownConfig,
  type Origin,
  type OriginCondition,
  type OriginKind,
  type OriginPicture,
  type SelectedPool,
} from './types';
