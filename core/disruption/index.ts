/** The cost of a change for a node: policies, actions, the drain decision. */

export { actionText, disruptionActions, forcesReboot, hasAction, runnableActions } from './actions';
export { disruptionProblems, type DisruptionSource } from './admission';
export { decideDrain, type DrainDecision } from './drain-required';
export { MACHINE_CONFIGURATION, policyInForce, type PolicyInForce } from './in-force';
export { legacyAction } from './legacy-actions';
export {
  closestFilePolicy,
  DEFAULT_DISRUPTION_POLICIES,
  mergeDisruptionPolicies,
} from './policies';
export { judgeRegistriesChange, type ContentPorts } from './registries-conf';
export {
  POLICY_CONDITION,
  policyProblemsText,
  policyStatus,
  policyStatusDiffers,
  type PolicyStatus,
} from './status';
export type {
  DisruptionAction,
  DisruptionPolicies,
  MachineConfiguration,
  NodeDisruptionPolicy,
} from './types';
