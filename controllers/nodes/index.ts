/** MachineConfigNodes: one per managed Node, from the moment the Node belongs to a pool. */

export { NodeController, type NodeControllerDeps } from './node-controller';
