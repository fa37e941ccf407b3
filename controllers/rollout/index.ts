/** Rollouts: when one must be open for a pool, and which changes an open one receives. */

export { RolloutController } from './rollout-controller';
export { connectRollouts, type RolloutConnection, type RolloutGateway } from './rollout-gateway';
