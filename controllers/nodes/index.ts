/**
 * MachineConfigNodes, one per managed Node that belongs to a pool; and the taint of Nodes that will
 * be drained.
 */

export { NodeController } from './node-controller';
export { TaintController } from './taint-controller';
