export { bootstrapContainerRuntime, containerRuntimeFiles } from './generate';
export { lookAtRuntimes, type RuntimeObject } from './look';
export { containerRuntimeProblems } from './problems';
export { STORAGE_CONF } from './storage-conf';
export type * from './types';
export { containerRuntimeRefusal } from './validate';
