export { EXTENSIONS, refuseUnknownExtensions, unknownExtensions } from './extensions';
export { generatedElsewhere, generatedElsewhereText } from './generations';
export { renderedName, specYaml } from './hash';
export { inMergeOrder, mergeSources, type BaseImages } from './merge';
export { isPasswordHash } from './password-hash';
export {
  irreconcilableReason,
  isReadable,
  refuseUnreconcilable,
  type ReconcilableOptions,
  type StorageOverride,
} from './reconcilable';
export { MAX_CONTENT_BYTES, MAX_OBJECT_BYTES, MAX_PATHS } from './limits';
export { noOriginalPath, ORIGINAL_PLACES, originalPath } from './original-paths';
export {
  renderMachineConfig,
  type RenderControllerConfig,
  type RenderedMachineConfig,
  type RenderInput,
} from './render';
export { renderForHosts } from './render-for-hosts';
export { Source } from './source';
export type * from './types';
export { isVerified } from './verification';
export { isKernelType, KernelType, validateMachineConfig } from './validate';
export { admissionProblems, refuseInadmissible } from './admission';
export { IMAGE_FIX, imageProblem } from './admission-images';
export { placeholdersIn } from './admission-placeholders';
export { describeProblem, type AdmissionProblem } from './admission-problem';
export { ineffectiveChange, refuseIneffectiveChange } from './strict-reconcilable';
