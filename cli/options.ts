/** Flags that several commands share, and how a command is run. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from './durations';
import { cliError, EXIT, type ExitCode } from './exit-codes';
import { OUTPUT_FORMATS, type OutputFormat } from './output';
import type { CliContext } from './ports';

export type Run = (work: (context: CliContext) => Promise<ExitCode>) => () => Promise<void>;

export interface OutputOption {
  readonly output: OutputFormat;
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format')
    .choices(OUTPUT_FORMATS)
    .default('table');
}

export interface WatchFlags extends OutputOption {
  readonly watch: boolean;
  readonly timeout?: number;
}

export interface WatchOptions extends OutputOption {
  readonly watch: boolean;
  /** Absent = until it ends by itself, or Ctrl-C. */
  readonly timeoutSeconds?: number;
}

export function watchable(command: Command): Command {
  return command
    .option('-w, --watch', 'keep watching, until Ctrl-C; a rollout continues', false)
    .option('--timeout <duration>', 'with --watch: stop after this time, e.g. 90s, 30m', duration)
    .addOption(outputOption());
}

/** @throws a usage error for `--timeout` without `--watch` */
export function watchOptions({ watch, timeout, output }: WatchFlags): WatchOptions {
  if (timeout === undefined) return { watch, output };
  if (watch) return { watch, output, timeoutSeconds: timeout };
  throw cliError(EXIT.USAGE, '--timeout bounds the watch: give --watch, too, or leave it out');
}

/** @returns seconds, more than 0 */
export function duration(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds <= 0) {
    throw new InvalidArgumentError('expected a duration such as 90s, 5m or 1h30m.');
  }
  return seconds;
}
