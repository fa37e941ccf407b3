import { type Command, InvalidArgumentError } from 'commander';
import { supportBundle } from './commands/support-bundle';
import { duration, type Run } from './options';

interface BundleFlags {
  readonly output?: string;
  /** Seconds. */
  readonly since: number;
  /** Bytes. */
  readonly limit: number;
}

const DAY_SECONDS = 86_400;
const MIB = 1024 * 1024;

export function addSupportBundle(program: Command, run: Run): void {
  program
    .command('support-bundle')
    .description(
      'write an archive for whoever helps you: findings of the doctor, objects, logs, rollouts in Temporal; ' +
        'without contents of files and without secrets',
    )
    .option('--output <file>', 'new file; default: slipway-support-TIME.tar.gz in this directory')
    .option(
      '--since <duration>',
      'age of logs, events and failed rollouts, e.g. 90m, 48h; default 24h',
      duration,
    )
    .option('--limit <size>', 'largest size of the file, e.g. 20MiB; default 50MiB', size)
    .action(({ output, since = DAY_SECONDS, limit = 50 * MIB }: Partial<BundleFlags>) =>
      run((context) =>
        supportBundle(context, {
          ...{ sinceSeconds: since, limitBytes: limit },
          ...(output === undefined ? {} : { file: output }),
        }),
      )(),
    );
}

const UNITS = { k: 1024, m: MIB, g: 1024 * MIB } as const;

/** @returns bytes, at least 1 MiB */
function size(text: string): number {
  const [, number, unit] = /^(\d+)(?:([kmg])i?b?)?$/i.exec(text) ?? [];
  const factor = unit === undefined ? 1 : UNITS[unit.toLowerCase() as keyof typeof UNITS];
  const bytes = Number(number) * factor;
  if (Number.isSafeInteger(bytes) && bytes >= MIB) return bytes;
  throw new InvalidArgumentError('expected a size of at least 1MiB, such as 20MiB or 1GiB.');
}
