/** `slipway host status|settle`: run on the console of a machine. No server is asked. */

import { printHostStatus, settleHere } from '../../workers/host/console';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { CliContext } from '../ports';

export interface HostOptions {
  readonly configFile?: string;
}

/**
 * Shows config, operating system, open update and worker of this machine. Exit 4 when it is unwell.
 */
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

/** Settles an unfinished update as at boot before the kubelet; may reboot. */
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
