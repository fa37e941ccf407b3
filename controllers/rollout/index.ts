/** Rollouts: when one must be open for a pool, and what an open one must hear of. */

export { RolloutController, type RolloutDeps } from './rollout-controller';
export {
  connectRollouts,
  createRolloutGateway,
  type RolloutConnection,
  type RolloutGateway,
} from './rollout-gateway';
