/** Flags that several commands take, and how a command is run. */

import { InvalidArgumentError, Option } from 'commander';
import { parseDuration } from './durations';
import type { ExitCode } from './exit-codes';
import { OUTPUT_FORMATS, type OutputFormat } from './output';
import type { CliContext } from './ports';

/** Turns a command into commander's action. */
export type Run = (work: (context: CliContext) => Promise<ExitCode>) => () => Promise<void>;

/** What `outputOption` gives. */
export interface OutputOption {
  readonly output: OutputFormat;
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print')
    .choices(OUTPUT_FORMATS)
    .default('table');
}

/** Parser of a flag that is a duration. @returns seconds, more than 0 */
export function duration(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds <= 0) {
    throw new InvalidArgumentError('expected a duration such as 90s, 5m or 1h30m.');
  }
  return seconds;
}
