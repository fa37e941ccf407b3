export { generatedElsewhere, generatedElsewhereText } from './generations';
export { specYaml } from './hash';
export { overrideText, type ImageOverride } from './image-overrides';
export { imageSetter } from './image-setter';
export { inMergeOrder } from './merge';
export { isPasswordHash } from './password-hash';
export { irreconcilableReason, isReadable, refuseUnreconcilable } from './reconcilable';
export { MAX_CONTENT_BYTES, MAX_OBJECT_BYTES, MAX_PATHS } from './limits';
export { noOriginalPath, ORIGINAL_PLACES, originalPath } from './original-paths';
export {
  renderMachineConfig,
  type RenderControllerConfig,
  type RenderedMachineConfig,
  type RenderInput,
} from './render';
export { renderForHosts } from './render-for-hosts';
export type * from './types';
export { isVerified } from './verification';
export { admissionProblems, refuseInadmissible } from './admission';
export { IMAGE_FIX, imageProblem } from './admission-images';
export { placeholdersIn } from './admission-placeholders';
export { describeProblem, type AdmissionProblem } from './admission-problem';
export { ineffectiveChange, refuseIneffectiveChange } from './strict-reconcilable';
