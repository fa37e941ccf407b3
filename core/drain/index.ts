/**
 * Decisions of a drain: which pods go (`filters`), what holds them (`budgets`). Evicting and
 * waiting are in `activities/cluster`.
 */

export {
  blockerOf,
  budgetsOf,
  evictionRefusal,
  predictBlockers,
  type PodDisruptionBudget,
  type PredictedBlocker,
  type PredictedReason,
} from './budgets';
export {
  groupedMessages,
  judgePod,
  judgePods,
  MCO_DRAIN_OPTIONS,
  type DrainContext,
  type DrainOptions,
  type DrainVerdict,
  type Finding,
  type FindingReason,
  type JudgedPod,
  type PodFilter,
} from './filters';
export { isOnlyNode, NO_DRAIN } from './only-node';
export {
  controllerOf,
  isFinished,
  isReady,
  isTerminating,
  MIRROR_ANNOTATION,
  nameOf,
  ownerText,
  terminatingSince,
  type Pod,
} from './pods';
