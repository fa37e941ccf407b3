/** `slipway host status` and `slipway host settle`. */

import { type MachineStatus, readMachineStatus } from '../../host/status/machine-status';
import { statusLines } from '../../host/status/status-text';
import { settleMachine } from './settle-program';
import { type HostWorkerOptions, readMachineSettings } from './settings';
import { createLogger } from '../../process/logging';
import { createMachinePorts } from './machine-ports';
import type { MachineSettings } from './machine-settings';

interface Console {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly write: (text: string) => unknown;
}

/** @returns false when the machine has problems @throws an Error named SettingsError */
export async function printHostStatus(
  flags: HostWorkerOptions,
  output: 'table' | 'json',
  { environment, write }: Console,
): Promise<boolean> {
  const status = await machineStatus(readMachineSettings(flags, environment));
  const text = output === 'json' ? JSON.stringify(status, null, 2) : statusLines(status).join('\n');
  write(`${text}\n`);
  return status.problems.length === 0;
}

/** An unreadable part becomes a problem in the answer, never an exception. */
export function machineStatus(settings: MachineSettings): Promise<MachineStatus> {
  const open = () => createMachinePorts(settings, { isLooking: true });
  return readMachineStatus({ ...settings, open });
}

/**
 * Settles an unfinished update, reboot included, and prints what it did.
 *
 * @throws an Error when the worker runs, or settling fails
 */
export async function settleHere(
  flags: HostWorkerOptions,
  signal: AbortSignal,
  { environment, write }: Console,
): Promise<void> {
  const settings = readMachineSettings(flags, environment);
  const log = createLogger({ process: 'host-settle', level: 'silent' });
  const { what, reboot, foreign } = await settleMachine(settings, { signal, log });
  write(`${what ?? foreign ?? 'nothing to settle'}\n`);
  if (reboot !== undefined) write(`rebooted: ${reboot}\n`);
}
