export { RolloutController } from './rollout-controller';
export { connectRollouts, type RolloutConnection, type RolloutGateway } from './rollout-gateway';
