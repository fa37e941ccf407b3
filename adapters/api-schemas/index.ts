/**
 * The API objects as zod schemas: the fields that Slipway reads, as in `deploy/crds` (a test
 * compares the two). Unknown fields pass.
 */

export { APIServer, ConfigNode, FeatureGate } from './cluster-settings';
export { ContainerRuntimeConfig } from './container-runtime-config';
export { ControllerConfig } from './controller-config';
export {
  ClusterImagePolicy,
  Image,
  ImageContentSourcePolicy,
  ImageDigestMirrorSet,
  ImagePolicy,
  ImageTagMirrorSet,
} from './image-sources';
export { KubeletConfig } from './kubelet-config';
export { MachineConfig } from './machine-config';
export { MachineConfigNode } from './machine-config-node';
export { MachineConfigPool } from './machine-config-pool';
export { MachineConfiguration } from './machine-configuration';
export { OSImageStream } from './os-image-stream';
export { parseObject } from './parse-object';
export { PinnedImageSet } from './pinned-image-set';
export { PoolRollout } from './pool-rollout';
export { RolloutPolicy } from './rollout-policy';
export { Slipway } from './slipway';
