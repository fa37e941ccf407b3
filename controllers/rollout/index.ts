/** Rollouts: when one must be open for a pool, and what an open one must hear of. */

export { RolloutController, type RolloutDeps } from './rollout-controller';
export { connectRollouts, type RolloutConnection, type RolloutGateway } from './rollout-gateway';
