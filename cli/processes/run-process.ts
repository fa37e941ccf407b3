import { Command, CommanderError } from 'commander';
import { messageOf } from '../../core/errors';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { ProcessCommand, ProcessEntry, ProcessFlag } from './process-command';

/** Invalid settings end it with a list of all problems. */
export async function runProcess(
  entry: ProcessEntry,
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const loaded = await entry.load();
  const command = processCommand(entry, loaded).exitOverride();
  try {
    command.parse([...argv], { from: 'user' });
    await loaded.run(command.opts(), environment, signal);
    return EXIT.OK;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
    process.stderr.write(`slipway ${entry.name}: ${messageOf(error)}\n`);
    return isSettingsError(error) ? EXIT.USAGE : EXIT.FAILED;
  }
}

export function processCommand(entry: ProcessEntry, loaded: ProcessCommand): Command {
  const command = new Command(`slipway ${entry.name}`).description(entry.description);
  for (const flag of loaded.flags) addFlag(command, flag);
  return command;
}

function addFlag(command: Command, flag: ProcessFlag): void {
  const long = `--${flag.setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const text = [flag.description, `(${flag.variable})`]
    .filter((part) => part !== undefined)
    .join(' ');
  if (flag.boolean === true) command.option(long, text);
  else if (flag.repeated === true) command.option(`${long} <value>`, text, collect, []);
  else command.option(`${long} <value>`, text);
}

function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value];
}

/** By name, because each process has its own class. */
function isSettingsError(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'name' in error && error.name === 'SettingsError'
  );
}
