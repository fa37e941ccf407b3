export { MachineConfigurationController } from './machine-configuration-controller';
