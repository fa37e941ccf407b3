import { type Command, InvalidArgumentError, Option } from 'commander';
import { collectNode, debugNode, type DebugOptions } from './commands/debug';
import { supportBundle } from './commands/support-bundle';
import { cliError, EXIT } from './exit-codes';
import { duration, type Run } from './options';

interface BundleFlags {
  readonly output?: string;
  /** Seconds. */
  readonly since?: number;
  /** Bytes. */
  readonly limit?: number;
}

const DAY_SECONDS = 86_400;
const MIB = 1024 * 1024;

const since = (): Option =>
  new Option('--since <duration>', 'age of logs and events, e.g. 90m, 48h; default 24h').argParser(
    duration,
  );
const limit = (): Option =>
  new Option('--limit <size>', 'largest size of the file, e.g. 20MiB; default 50MiB').argParser(
    size,
  );

export function addSupportBundle(program: Command, run: Run): void {
  program
    .command('support-bundle')
    .description(
      'write an archive for whoever helps you: findings of the doctor, objects, logs, rollouts in Temporal; ' +
        'without contents of files and without secrets',
    )
    .option('--output <file>', 'new file; default: slipway-support-TIME.tar.gz in this directory')
    .addOption(since())
    .addOption(limit())
    .action((flags: BundleFlags) => run((context) => supportBundle(context, archiveOf(flags)))());
}

export function addDebug(program: Command, run: Run): void {
  program
    .command('debug')
    .description(
      'run a shell or a command on the machine of a node, in a privileged pod that is deleted at the end',
    )
    .usage('[options] <node> [-- <command...>]')
    .argument('<node>', 'name of the Node')
    .argument('[command...]', 'command on the machine; default: a shell')
    .option('-n, --namespace <name>', 'namespace of the pod', 'slipway')
    .option('--image <image>', "image of the pod; default: that of Slipway's cluster worker")
    .option('--no-chroot', 'run in the image, with the files of the machine at /host')
    .option('-i, --stdin', 'pass the input to the command', false)
    .option(
      '--collect',
      'write an archive: journals of Slipway and the kubelet, state of the operating system; without secrets',
    )
    .option('--output <file>', 'with --collect: new file; default: slipway-debug-NODE-TIME.tar.gz')
    .addOption(since())
    .addOption(limit())
    .action((node: string, command: readonly string[], flags: DebugFlags) => {
      const { collect, output, since: age, limit: most, ...options } = flags;
      if (collect !== true) {
        refuseArchiveFlags({ output, since: age, limit: most });
        return run((context) => debugNode(context, node, command, options))();
      }
      if (command.length > 0) {
        throw cliError(EXIT.USAGE, '--collect runs its own commands: leave yours out');
      }
      return run((context) => collectNode(context, node, { ...options, ...archiveOf(flags) }))();
    });
}

type DebugFlags = DebugOptions & BundleFlags & { readonly collect?: boolean };

function refuseArchiveFlags(flags: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(flags).filter((flag) => flags[flag] !== undefined);
  if (given.length === 0) return;
  throw cliError(
    EXIT.USAGE,
    `--${given[0]} is for an archive: give --collect, too, or leave it out`,
  );
}

function archiveOf({ output, since: age = DAY_SECONDS, limit: most = 50 * MIB }: BundleFlags) {
  return {
    ...{ sinceSeconds: age, limitBytes: most },
    ...(output === undefined ? {} : { file: output }),
  };
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
