/** Pool status for `kubectl get mcp`: a pure function of the cluster's objects. */

export { PoolStatusController } from './pool-status-controller';
