/** Pool status: what `kubectl get mcp` shows, kept a pure function of what the cluster shows. */

export { PoolStatusController, type PoolStatusDeps } from './pool-status-controller';
