import { runServer } from '../../server/main';
import { ServerSettings } from '../../server/settings';
import { readSettings } from '../../workers/config';
import type { ProcessCommand } from './process-command';
import { flagsOfSchema } from './schema-flags';

export const serverCommand: ProcessCommand = {
  flags: flagsOfSchema(ServerSettings),
  run: (flags, environment, signal) =>
    runServer(readSettings(ServerSettings, flags, environment), signal),
};
