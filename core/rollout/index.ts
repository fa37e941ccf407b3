/**
 * Slipway's own rules for rolling a pool. `decide` is the whole of them: where each node stands (`standing`), which
 * updates get a grant (`grants`), which should run (`running`), when to stop (`threshold`), and what to tell a person
 * (`progress`, `conditions`). They stand on top of `core/pool`, which decides as MCO does. Nothing here knows of
 * Temporal or of the Kubernetes API.
 */

export {
  isCordonedByPerson,
  isCordonedBySlipway,
  isInService,
  isTakenOut,
  takesRoom,
} from '../node/availability';
export { isTargetCancelled } from './cancelled';
export {
  controlPlaneOf,
  isControlPlane,
  isLimitedByQuorum,
  loweredSentence,
  quorumLimit,
  slotsOfPool,
} from './control-plane';
export { isSameNode, movedTo } from './same-member';
export { inTurns, nodesInLine } from './line';
export { waitForPerson, type PersonWait } from './person';
export { DEFAULT_POLICY, failureLimit, resolvePolicy } from './policy';
export { RolloutState, type NamedReason, type RolloutEnd } from './progress';
export { looksHalted } from './threshold';
