/** Enough of a machine for a rollback. */

import { messageOf } from '../../core/errors';
import { createExclusive } from '../../host/exclusive';
import type { Host } from '../../host/host';
import type { Logger } from '../../process/logging';
import { createMachinePorts } from './machine-ports';
import { rebootMachine } from './reboot';
import { type HostWorkerOptions, readMachineSettings } from './settings';

const NO_FILE = '/dev/null';

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when the readable settings are not enough. */
export async function bareHost(
  flags: HostWorkerOptions,
  environment: Environment,
  { log, reboot }: { readonly log: Logger; readonly reboot?: Host['reboot'] },
): Promise<Host | undefined> {
  try {
    const settings = readBareSettings(flags, environment);
    // The unusable file may name the OS driver; the journal names it, too.
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
    log.error({ reason: messageOf(error) }, 'cannot roll back without settings');
    return undefined;
  }
}

function readBareSettings(flags: HostWorkerOptions, environment: Environment) {
  try {
    return readMachineSettings(flags, environment);
  } catch {
    // The file itself is unusable.
    return readMachineSettings({ ...flags, configFile: NO_FILE }, environment);
  }
}
