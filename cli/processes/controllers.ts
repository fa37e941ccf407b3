import { runControllers } from '../../controllers/main';
import { ControllerSettings, controllerSettings } from '../../controllers/settings';
import type { ProcessCommand } from './process-command';
import { flagsOfSchema } from './schema-flags';

export const controllersCommand: ProcessCommand = {
  flags: flagsOfSchema(ControllerSettings),
  run: (flags, environment, signal) =>
    runControllers(controllerSettings(flags, environment), signal),
};
