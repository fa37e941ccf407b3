export { containerRuntimeController } from './container-runtime-controller';
