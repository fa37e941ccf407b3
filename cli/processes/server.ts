import { runServer } from '../../server/main';
import { ServerSettings } from '../../server/settings';
import { readSettings } from '../../process/settings';
import type { ProcessCommand } from './process-command';
import { flagsOfSchema } from './schema-flags';

const REPEATED: readonly string[] = ['allowNetwork', 'registryAuthority'];

export const serverCommand: ProcessCommand = {
  flags: flagsOfSchema(ServerSettings).map((flag) =>
    REPEATED.includes(flag.setting) ? { ...flag, repeated: true } : flag,
  ),
  run: (flags, environment, signal) =>
    runServer(readSettings(ServerSettings, given(flags), environment), signal),
};

/** An empty list of a repeatable flag must not hide the environment. */
function given(flags: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(flags).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
}
