/** The cost of a change for a node: policies, actions, the drain decision. */

export { actionText, disruptionActions, forcesReboot, hasAction, runnableActions } from './actions';
export { disruptionProblems, type DisruptionSource, type PolicyProblem } from './admission';
export { readDisruptionPolicy } from './cluster-policy';
export { decideDrain, type DrainDecision } from './drain-required';
export { legacyAction } from './legacy-actions';
export {
  closestFilePolicy,
  DEFAULT_DISRUPTION_POLICIES,
  mergeDisruptionPolicies,
  REGISTRIES_CONF,
} from './policies';
export { judgeRegistriesChange, type ContentPorts } from './registries-conf';
export type { DisruptionAction, DisruptionPolicies, NodeDisruptionPolicy } from './types';
