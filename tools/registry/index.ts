export { GUARDED_PASSWORD, startGuardedRegistry, type GuardedRegistry } from './guarded';
export { startGate, type RegistryGate } from './gate';
export { ensureRegistry } from './program';
export { startRegistry, type Registry } from './registry';
export { createImageBuilder, noise, type ImageBuilder } from './images';
export { createSigner, SIGNATURES_BESIDE_IMAGES, type Signer } from './signatures';
export { ensureVerifyingSkopeo } from './verifying-skopeo';
export { pushImage, pushPayload } from './payload';
