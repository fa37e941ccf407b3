/** A real registry for OCI images, a gate to disturb pulls with, and small bootable images. */

export { bytesOf, type ServedBlob } from './access-log';
export { GUARDED_PASSWORD, startGuardedRegistry, type GuardedRegistry } from './guarded';
export { startGate, type RegistryGate, type Verdict } from './gate';
export { ensureRegistry } from './program';
export {
  startRegistry,
  type Registry,
  type RegistryOptions,
  type RegistryTls,
  type ServedDuring,
} from './registry';
export {
  createImageBuilder,
  noise,
  type ImageBuilder,
  type ImageBuilderParts,
  type TinyImage,
} from './images';
export { createSigner, SIGNATURES_BESIDE_IMAGES, type Signer } from './signatures';
export { ensureVerifyingSkopeo } from './verifying-skopeo';
