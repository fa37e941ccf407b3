/**
 * Pools as in MCO: membership, capacity, candidates, status. Exact on purpose, with the defects
 * that `test/conformance` pins; Slipway's own rules are in `core/rollout`.
 */

export {
  allCandidates,
  comparePlaces,
  placeOf,
  selectCandidates,
  sortByZoneAndAge,
  unavailableNodes,
  type CandidateSelection,
  type NodePlace,
} from './candidates';
export { checkMaxUnavailable, maxUnavailable, slotCount } from './capacity';
export { isConditionTrue, setCondition, type ConditionValue } from './conditions';
export { goQuote } from './go-quote';
export { isLayered, type Layering, type MachineOSBuild, type MachineOSConfig } from './layering';
export {
  assignNodes,
  nodesInNoPool,
  nodesOfPool,
  poolHint,
  poolsForNode,
  primaryPoolForNode,
  type Membership,
  type PoolsOfNode,
} from './membership';
export { calculateStatus, poolStatus, type PoolStatus, type StatusInput } from './status';
export type {
  MachineConfigPool,
  PoolConfiguration,
  ResolvedPolicy,
  RolloutPolicy,
  RolloutPolicySpec,
} from './types';
