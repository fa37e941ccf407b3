export {
  decodeKubeletConfiguration,
  type DecodedKubeletConfiguration,
  type ReadYaml,
} from './decode';
export { encodeKubeletConfiguration } from './encode';
export { mergeConfigurations } from './merge';
export { KUBELET_CONFIGURATION } from './schema';
export type { GoField, GoFields, GoStructType, GoType, GoValue } from './schema-types';
