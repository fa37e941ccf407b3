/** This machine without usable settings: enough for a rollback. */

import { messageOf } from '../../core/errors';
import { createExclusive } from '../../host/exclusive';
import type { Host } from '../../host/host';
import type { Logger } from '../../process/logging';
import { createMachinePorts } from './machine-ports';
import { rebootMachine } from './reboot';
import { type HostWorkerOptions, readMachineSettings } from './settings';

const NO_FILE = '/dev/null';

type Environment = Readonly<Record<string, string | undefined>>;

/** The machine with the readable part of its settings; undefined when that is not enough. */
export async function bareHost(
  flags: HostWorkerOptions,
  environment: Environment,
  { log, reboot }: { readonly log: Logger; readonly reboot?: Host['reboot'] },
): Promise<Host | undefined> {
  try {
    const settings = readBareSettings(flags, environment);
    // The OS driver may be named in the unusable file; the journal names it, too.
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
    // The file itself is unusable: continue without it.
    return readMachineSettings({ ...flags, configFile: NO_FILE }, environment);
  }
}
