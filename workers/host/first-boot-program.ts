import { firstBoot } from '../../host/first-boot/attempts';
import { journalLogger } from './journal-logger';
import { createMachinePorts } from './machine-ports';
import { rebootMachine } from './reboot';
import { type HostWorkerOptions, readMachineSettings } from './settings';

/**
 * `slipway host-first-boot`, between Ignition and the kubelet. Needs no Temporal.
 *
 * @param flags - by setting name (`MACHINE_FLAGS`); they precede the environment
 * @throws an Error named SettingsError that lists every wrong setting
 */
export async function runHostFirstBoot(
  flags: HostWorkerOptions,
  signal: AbortSignal,
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  const settings = readMachineSettings(flags, environment);
  const log = journalLogger('host-first-boot', settings.logLevel, environment);
  const machine = {
    node: settings.node,
    ports: async () => (await createMachinePorts(settings)).ports,
    reboot: (reason: string) => rebootMachine(reason, settings, { signal, log }),
  };
  await firstBoot(machine, { signal, log });
}
