import { formatDuration } from '../durations';
import { EXIT, type ExitCode } from '../exit-codes';
import type { CliContext, SetupStep } from '../ports';

/** Names each thing and what was done. Safe to repeat. */
export async function setupTemporal(
  { terminal, temporalSetup }: Pick<CliContext, 'terminal' | 'temporalSetup'>,
  retentionSeconds: number | undefined,
): Promise<ExitCode> {
  const setup = await temporalSetup();
  const say = (step: SetupStep): void => {
    terminal.out.write(`${line(step)}\n`);
  };
  say(await setup.namespace(retentionSeconds));
  for (const step of await setup.searchAttributes()) say(step);
  terminal.out.write(`Temporal at ${setup.address} has what Slipway needs\n`);
  return EXIT.OK;
}

function line({ what, did, retentionSeconds }: SetupStep): string {
  if (retentionSeconds === undefined) return `${what}: ${did}`;
  return `${what}: ${did}, keeps workflows for ${formatDuration(retentionSeconds)} after their end`;
}
