/** Files, units and keys of a simulated host are real. */

export { createSimulatedKubelet, type SimulatedKubelet } from './kubelet';
export { createSimulatedMachine, simulatedOwnership, type SimulatedMachine } from './machine';
export { createSimulatedOs, type SimulatedOs } from './os-driver';
export {
  createFailurePlan,
  DEFAULT_DURATIONS,
  FAILURE_POINTS,
  type FailurePlan,
  type FailurePoint,
  type SimulatedDurations,
  type SimulatedFailure,
} from './pace';
