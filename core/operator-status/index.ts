export { componentsOf, imageOfPod, NAME_LABEL, type ProcessPod } from './components';
export { clusterOperatorStatus, operatorStatus } from './decide';
export { statusDiffers } from './differs';
export { settingFaults, temporalFaults, temporalSaidAwaySince } from './faults';
export { HostVersions, hostWorkersLine } from './host-workers';
export {
  CLUSTER_OPERATOR,
  OperatorCondition,
  SLIPWAY,
  type ClusterOperator,
  type ClusterOperatorStatus,
  type Component,
  type OperatorStatus,
  type Slipway,
} from './types';
