/** `slipway host status` and `slipway host settle`, for a person at the console of a machine. */

import { readHostReport } from '../../host/report/report';
import { reportLines } from '../../host/report/report-text';
import { settleMachine } from '../../host/settle/before-kubelet';
import { type HostWorkerOptions, readMachineSettings } from './settings';
import { createLogger } from '../../process/logging';

interface Console {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly write: (text: string) => unknown;
}

/**
 * Prints the report of this machine.
 *
 * @returns false when it has problems
 * @throws an Error named SettingsError
 */
export async function printHostStatus(
  flags: HostWorkerOptions,
  output: 'table' | 'json',
  { environment, write }: Console,
): Promise<boolean> {
  const report = await readHostReport(readMachineSettings(flags, environment));
  const text = output === 'json' ? JSON.stringify(report, null, 2) : reportLines(report).join('\n');
  write(`${text}\n`);
  return report.problems.length === 0;
}

/**
 * Settles an unfinished update as before the kubelet, reboot included, and prints what it did.
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
