export {
  EMPTY_IGNITION,
  encodeIgnition,
  ignitionEqual,
  mergeIgnition,
  parseAndConvert,
  refuseSpecialModes,
  validateIgnition,
} from './config';
export { convertIgnitionTo, OUTPUT_VERSIONS, type OutputVersion } from './convert-down';
export {
  convertIgnition,
  parseIgnition,
  readIgnition,
  SUPPORTED_VERSIONS,
  type ParsedIgnition,
} from './parse';
export { readRawIgnition, type RawIgnition, type RenderPorts } from './raw';
export type { Finding } from './report';
export { listOf, structOf } from './rules';
export { without, wordOf, type IgnitionObject } from './schema';
export { servedVersion } from './served-version';
