/** This machine when its settings cannot be used: enough of it to go back. */

import { messageOf } from '../../core/errors';
import { createExclusive } from '../../host/exclusive';
import type { Host } from '../../host/host';
import type { Logger } from '../../process/logging';
import { createMachinePorts } from './machine-ports';
import { rebootMachine } from './reboot';
import { type HostWorkerOptions, readMachineSettings } from './settings';

/** Stands in for a settings file that cannot be used. */
const NO_FILE = '/dev/null';

type Environment = Readonly<Record<string, string | undefined>>;

/** This machine with what can be read of its settings; undefined when that is not enough. */
export async function bareHost(
  flags: HostWorkerOptions,
  environment: Environment,
  { log, reboot }: { readonly log: Logger; readonly reboot?: Host['reboot'] },
): Promise<Host | undefined> {
  try {
    const settings = readBareSettings(flags, environment);
    // A file that cannot be used may have named the OS driver, and so has the journal.
    const { ports } = await createMachinePorts(settings);
    const fetch = async (name: string): Promise<never> => {
      throw new Error(`${name} cannot be fetched without settings`);
    };
    return {
      node: settings.node,
      exclusive: createExclusive(),
      ports: { ...ports, configs: { fetch } },
      reboot: reboot ?? ((reason, signal) => rebootMachine(reason, settings, { signal, log })),
    };
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'no way back without settings');
    return undefined;
  }
}

function readBareSettings(flags: HostWorkerOptions, environment: Environment) {
  try {
    return readMachineSettings(flags, environment);
  } catch {
    // The file itself: what everybody has when there is none.
    return readMachineSettings({ ...flags, configFile: NO_FILE }, environment);
  }
}
