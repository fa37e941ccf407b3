/**
 * Slipway's own rules for rolling a pool, each in its own file: what the cluster allows (`view`), in
 * which order, how many at once (`slots`, `canary`, `prepare-ahead`), when to stop (`threshold`), and
 * what to tell a person (`progress`, `estimate`). They stand on top of `core/pool`, which decides as
 * MCO does. Nothing here knows of Temporal or of the Kubernetes API.
 */

export {
  isAdopted,
  isBeingDeleted,
  isCordonedByPerson,
  isCordonedBySlipway,
  isDownUnknown,
  isInService,
  isLeftUnavailable,
  isTakenOut,
  servesHalfDone,
  takesSlot,
  unavailability,
} from './availability';
export { canaryLimit, type CanaryInput, type CanaryLimit } from './canary';
export {
  controlPlaneOf,
  controlPlaneRoom,
  isControlPlane,
  isLimitedByQuorum,
  loweredSentence,
  quorumLimit,
  quorumSentence,
  slotsOfPool,
  type ControlPlaneRoom,
} from './control-plane';
export { departure, isSameNode, movedTo, type Departure, type DepartureQuestion } from './departed';
export { remainingSeconds, type EstimateInput } from './estimate';
export { inTurns, nodesInLine } from './line';
export { orderCandidates, type Orderable } from './order';
export { DEFAULT_POLICY, failureLimit, resolvePolicy } from './policy';
export { startable, type PrepareAheadInput } from './prepare-ahead';
export { rolloutState, RolloutState, type RolloutFacts, type StateAndBlocker } from './progress';
export { selectFrom, type Candidate, type PoolSelection, type SelectionLimits } from './selection';
export {
  countedInNumber,
  decideSlots,
  freeSlots,
  pendingBefore,
  settleBroken,
  slotNumber,
  type SlotDecision,
  type SlotRequest,
} from './slots';
export { halted, looksHalted } from './threshold';
export {
  isTriedWhenTold,
  observePool,
  placeNode,
  type BlockedNode,
  type FailedNode,
  type NamedReason,
  type NodePlacement,
  type PoolObservation,
  type PoolView,
  type RolloutCandidate,
} from './view';
