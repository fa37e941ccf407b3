/** Flags and help of the commands that let new machines in. */

import { type Command, Option } from 'commander';
import {
  createJoinToken,
  listJoinTokens,
  pruneJoinTokens,
  revokeJoinToken,
} from './commands/join-token';
import { printPointerConfig, type PointerOptions } from './commands/pointer-config';
import { duration, type OutputOption, outputOption, type Run } from './options';

interface CreateOptions {
  readonly pool: string;
  /** Seconds. */
  readonly ttl?: number;
  readonly description?: string;
  readonly secretFile?: string;
}

const ttl = (): Option =>
  new Option(
    '--ttl <duration>',
    'how long it lets machines in, from 1m to 2160h; default 2h',
  ).argParser(duration);

export function addJoinToken(program: Command, run: Run): void {
  const token = program
    .command('join-token')
    .description('make, list and revoke the tokens with which new machines get their first config');
  token
    .command('create')
    .description('make a token for the machines of a pool; it is printed now and never again')
    .requiredOption('--pool <name>', 'the pool whose first config it opens')
    .addOption(ttl())
    .option('--description <text>', 'what it is for, for the list')
    .option(
      '--secret-file <file>',
      'write the Secret to a new file, for a server that has no cluster yet; none is asked',
    )
    .addOption(outputOption())
    .action(({ output, ttl: ttlSeconds, ...request }: OutputOption & CreateOptions) =>
      run((context) => createJoinToken(context, { ...request, ttlSeconds }, output))(),
    );
  token
    .command('list')
    .description('list the tokens, never their secrets')
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => listJoinTokens(context, options.output))());
  token
    .command('revoke')
    .description('make a token worthless at once; machines that have joined are not touched')
    .argument('<id>', 'ID of the token, as the list shows it')
    .action((id: string) => run((context) => revokeJoinToken(context, id))());
  token
    .command('prune')
    .description('delete tokens that expired a day ago or earlier, as every create does')
    .action(() => run((context) => pruneJoinTokens(context))());
}

export function addPointerConfig(program: Command, run: Run): void {
  program
    .command('pointer-config')
    .description(
      'print the Ignition config to start new machines of a pool with; it holds a token, so keep it secret',
    )
    .argument('<pool>', 'name of the MachineConfigPool')
    .option(
      '--server-url <url>',
      'https://host:port of the server; default: as the ControllerConfig says',
    )
    .option(
      '--ca-file <file>',
      'PEM: authority of the server; default: as the ControllerConfig says',
    )
    .addOption(
      new Option(
        '--token-file <file>',
        'take the token from a file; - is standard input',
      ).conflicts(['token', 'ttl', 'open']),
    )
    .addOption(
      new Option(
        '--token <token>',
        'the token; everybody on this machine can see it there',
      ).conflicts(['ttl', 'open']),
    )
    .addOption(ttl().conflicts('open'))
    .addOption(new Option('--open', 'without a token, for a server in mode open'))
    .action((pool: string, options: PointerOptions) =>
      run((context) => printPointerConfig(context, pool, options))(),
    );
}
