/**
 * Pools as in MCO: membership, capacity, candidates, status. Exact on purpose, with the defects
 * that `test/conformance` pins; Slipway's own rules are in `core/rollout`.
 */

export { allCandidates, selectCandidates, unavailableNodes } from './candidates';
export { checkMaxUnavailable, maxUnavailable } from './capacity';
export { isConditionTrue } from './conditions';
export { kubeletLabels } from './kubelet-labels';
export type { Layering, MachineOSBuild, MachineOSConfig } from './layering';
export {
  assignNodes,
  nodesInNoPool,
  nodesOfPool,
  poolHint,
  primaryPoolForNode,
} from './membership';
export { calculateStatus } from './status';
export type { MachineConfigPool } from './types';
