/** For the console of a machine. Asks no server. */

import { printHostStatus, settleHere } from '../../workers/host/console';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { CliContext } from '../ports';

export interface HostOptions {
  readonly configFile?: string;
}

/** Exit 4 when the machine has problems. */
export async function hostStatus(
  { terminal }: CliContext,
  options: HostOptions,
  output: 'table' | 'json',
): Promise<ExitCode> {
  const isWell = await printHostStatus(flagsOf(options), output, {
    environment: process.env,
    write: (text) => terminal.out.write(text),
  });
  return isWell ? EXIT.OK : EXIT.FAILED;
}

/** As at boot before the kubelet; may reboot. */
export async function hostSettle(
  { terminal, signal }: CliContext,
  options: HostOptions,
): Promise<ExitCode> {
  await settleHere(flagsOf(options), signal, {
    environment: process.env,
    write: (text) => terminal.out.write(text),
  });
  return EXIT.OK;
}

function flagsOf({ configFile }: HostOptions): Readonly<Record<string, unknown>> {
  return { configFile };
}
