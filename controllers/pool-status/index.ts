/** Pool status for `kubectl get mcp`: a pure function of the cluster's objects. */

export { PoolStatusController, type PoolStatusDeps } from './pool-status-controller';
