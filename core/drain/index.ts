/**
 * Decisions of a drain: which pods go (`filters`), what holds them (`budgets`), which are asked next
 * (`drain-pods`). Evicting and waiting are in `activities/cluster`.
 */

export {
  blockerOf,
  budgetsOf,
  evictionRefusal,
  predictBlockers,
  type PodDisruptionBudget,
} from './budgets';
export { DrainPods, type DrainProgress, type EvictionOutcome } from './drain-pods';
export {
  groupedMessages,
  judgePod,
  judgePods,
  MCO_DRAIN_OPTIONS,
  type DrainContext,
  type DrainOptions,
  type JudgedPod,
} from './filters';
export { isOnlyNode, NO_DRAIN } from './only-node';
export { controllerOf, isTerminating, nameOf, terminatingSince, type Pod } from './pods';
