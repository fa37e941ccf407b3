/**
 * MachineConfigNodes, one per managed Node that belongs to a pool; and the taint of Nodes that will
 * be drained.
 */

export { NodeController, type NodeControllerDeps } from './node-controller';
export { TaintController, type TaintDeps } from './taint-controller';
