export { PoolStatusController } from './pool-status-controller';
