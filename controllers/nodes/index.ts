export { NodeController } from './node-controller';
export { TaintController } from './taint-controller';
