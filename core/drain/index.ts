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
} from './budgets';
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
