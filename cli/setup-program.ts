import { type Command, InvalidArgumentError, Option } from 'commander';
import { setupTemporal } from './commands/setup-temporal';
import { parseDuration } from './durations';
import type { Run } from './options';

export function addSetup(program: Command, run: Run): void {
  program
    .command('setup')
    .description('create what Slipway needs in other servers')
    .command('temporal')
    .description(
      'create the missing namespace and search attributes, and wait until they can be used',
    )
    .addOption(
      new Option(
        '--retention <duration>',
        'how long Temporal keeps a workflow after its end, e.g. 7d, 72h; ' +
          'default 7d for a new namespace, unchanged for an existing one',
      ).argParser(days),
    )
    .action(({ retention }: { readonly retention?: number }) =>
      run((context) => setupTemporal(context, retention))(),
    );
}

/** In whole seconds; days are allowed. */
function days(text: string): number {
  const count = /^(\d+)d$/.exec(text)?.[1];
  const seconds = count === undefined ? parseDuration(text) : Number(count) * 86_400;
  if (seconds === undefined || seconds <= 0 || !Number.isInteger(seconds)) {
    throw new InvalidArgumentError('expected a duration such as 7d or 72h.');
  }
  return seconds;
}
