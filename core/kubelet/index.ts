export {
  baseConfiguration,
  baseWithKnownLatencyProfile,
  baseWithLatencyProfile,
  type KubeletBase,
} from './base';
export {
  bootstrapFeatureGates,
  bootstrapKubeletConfigs,
  bootstrapNodeConfig,
  type BootstrapInput,
  type BootstrapKubeletConfig,
  type BootstrapPool,
  type BootstrapResult,
} from './bootstrap';
export { hasFeatureGate } from './cluster-settings';
export {
  decodeKubeletConfiguration,
  type DecodedKubeletConfiguration,
  type ReadYaml,
} from './decode';
export { encodeKubeletConfiguration } from './encode';
export { KUBELET_CONF } from './files';
export {
  featureGateFiles,
  kubeletConfigFiles,
  nodeConfigParts,
  type NodeConfigParts,
} from './machine-config';
export { lookAtKubelets, type KubeletLook, type KubeletObject } from './look';
export { mergeConfigurations } from './merge';
export { cgroupArguments, withLatencyProfile } from './node-config';
export { nodeConfigChange } from './node-config-change';
export { KUBELET_CONFIGURATION } from './schema';
export type { GoField, GoFields, GoStructType, GoType, GoValue } from './schema-types';
export { isControlPlanePool, staticPodPathError } from './static-pod-path';
export { strictKubeletConfigProblems, type KubeletConfigProblem } from './strict';
export { securityProfileCiphers, type TlsSecurityProfile, type TlsValues } from './tls-profile';
export {
  userKubeletConfig,
  type FeatureGates,
  type KubeletConfigSpec,
  type NodeConfigSpec,
  type UserKubeletConfig,
} from './types';
export { userKubeletConfigError } from './validate-user';
