import { settleBeforeKubelet } from '../../host/settle/before-kubelet';
import type { Settlement } from '../../host/settle/settle-at-start';
import type { Logger } from '../../process/logging';
import { journalLogger } from './journal-logger';
import { createMachinePorts } from './machine-ports';
import type { MachineSettings } from './machine-settings';
import { rebootMachine } from './reboot';
import { type HostWorkerOptions, readMachineSettings } from './settings';

/**
 * `slipway host-settle`, before the kubelet: settles what a power cut or a rollback left. Needs
 * neither Temporal nor a server.
 *
 * @param flags - by setting name (`HOST_WORKER_FLAGS`); they precede the environment
 * @throws an Error named SettingsError that lists every wrong setting
 */
export async function runHostSettle(
  flags: HostWorkerOptions,
  signal: AbortSignal,
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  const settings = readMachineSettings(flags, environment);
  const log = journalLogger('host-settle', settings.logLevel, environment);
  const settled = await settleMachine(settings, { signal, log });
  if (Object.keys(settled).length === 0) log.info({ node: settings.node }, 'nothing to settle');
}

/** @throws an Error when the worker runs, or settling fails */
export function settleMachine(
  settings: MachineSettings,
  running: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<Settlement> {
  const { node, root } = settings;
  const machine = {
    node,
    root,
    ports: async () => (await createMachinePorts(settings)).ports,
    reboot: (reason: string) => rebootMachine(reason, settings, running),
  };
  return settleBeforeKubelet(machine, running);
}
