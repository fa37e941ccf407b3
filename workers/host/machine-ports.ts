import {
  createHostFiles,
  createHostUsers,
  createJournal,
  createSystemctl,
  createVitals,
} from '../../adapters/host';
import { failureName } from '../../core/errors';
import type { HostPorts, MachinePorts, UpdateHeader, UpdateMark } from '../../host/ports';
import type { MachineSettings } from './machine-settings';
import { type ChosenDriver, chooseDriver, createOsDriver } from './os-driver';

/** Opening the journal would otherwise drop one that never began. */
const LOOKING = { change: async () => undefined, removeDirectory: async () => undefined };

/**
 * Needs no Temporal.
 * @param isLooking - the journal is not changed when it is opened
 *
 * @returns the ports, and which driver manages the operating system and why
 * @throws an Error when no driver fits this machine
 */
export async function createMachinePorts(
  settings: MachineSettings,
  { isLooking = false }: { readonly isLooking?: boolean } = {},
): Promise<{
  readonly ports: MachinePorts;
  readonly driver: ChosenDriver;
}> {
  const { node, root } = settings;
  const files = createHostFiles({ root });
  const journal = createJournal<UpdateHeader, UpdateMark>(
    isLooking ? { ...files, ...LOOKING } : files,
  );
  const driver = chooseDriver(settings.driver, root, undefined, await begunWith(journal));
  const ports = {
    node,
    files,
    users: createHostUsers(files),
    journal,
    systemd: createSystemctl(files),
    os: createOsDriver(driver, root),
    vitals: createVitals(settings),
  };
  return { ports, driver };
}

/** An unreadable journal is reported when settling. */
async function begunWith(
  journal: HostPorts['journal'],
): Promise<UpdateHeader['driver'] | undefined> {
  try {
    return (await journal.open())?.header.driver;
  } catch (error) {
    const name = failureName(error);
    if (name !== 'RollbackFailed' && name !== 'JournalFailed') throw error;
    return undefined;
  }
}
