/** MachineConfigs: checking, merging, rendering and comparing. */

export { EXTENSIONS, refuseUnknownExtensions, unknownExtensions } from './extensions';
export { renderedName, specYaml } from './hash';
export { inMergeOrder, mergeSources, type BaseImages } from './merge';
export {
  irreconcilableReason,
  irreconcilableReasons,
  refuseUnreconcilable,
  type ReconcilableOptions,
  type StorageOverride,
} from './reconcilable';
export {
  MAX_OBJECT_BYTES,
  renderMachineConfig,
  type RenderControllerConfig,
  type RenderedMachineConfig,
  type RenderInput,
} from './render';
export { Source } from './source';
export type * from './types';
export { isKernelType, KernelType, validateMachineConfig } from './validate';
export { admissionProblems, refuseInadmissible } from './admission';
export { describeProblem, type AdmissionProblem } from './admission-problem';
export { ineffectiveChange, refuseIneffectiveChange } from './strict-reconcilable';
