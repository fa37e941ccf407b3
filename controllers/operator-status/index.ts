export { OperatorStatusController } from './operator-status-controller';
