import { type Command, Option } from 'commander';
import {
  createJoinToken,
  listJoinTokens,
  pruneJoinTokens,
  revokeJoinToken,
} from './commands/join-token';
import { type CloudConfigOptions, printCloudConfig } from './commands/cloud-config';
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
  new Option('--ttl <duration>', 'lifetime of the token, 1m to 2160h; default 2h').argParser(
    duration,
  );

export function addJoinToken(program: Command, run: Run): void {
  const token = program
    .command('join-token')
    .description(
      'create, list and revoke the tokens with which new machines get their first config',
    );
  token
    .command('create')
    .description('create a token for the machines of a pool; it is printed only now')
    .requiredOption('--pool <name>', 'pool of the machines')
    .addOption(ttl())
    .option('--description <text>', 'text for the list')
    .option(
      '--secret-file <file>',
      'write the Secret to a new file, for a server without a cluster',
    )
    .addOption(outputOption())
    .action(({ output, ttl: ttlSeconds, ...request }: OutputOption & CreateOptions) =>
      run((context) => createJoinToken(context, { ...request, ttlSeconds }, output))(),
    );
  token
    .command('list')
    .description('list the tokens without their secrets')
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => listJoinTokens(context, options.output))());
  token
    .command('revoke')
    .description('revoke a token at once; machines that have joined are not affected')
    .argument('<id>', 'ID of the token, as the list shows it')
    .action((id: string) => run((context) => revokeJoinToken(context, id))());
  token
    .command('prune')
    .description('delete tokens that expired more than a day ago; create does this, too')
    .action(() => run((context) => pruneJoinTokens(context))());
}

const serverUrl = (): Option =>
  new Option(
    '--server-url <url>',
    'https://host:port of the server; default: from the ControllerConfig',
  );

const caFile = (): Option =>
  new Option(
    '--ca-file <file>',
    'PEM file: authority of the server; default: the bundle of Slipway, else from the ControllerConfig',
  );

export function addPointerConfig(program: Command, run: Run): void {
  program
    .command('pointer-config')
    .description(
      'print the pointer config for new machines of a pool; it contains a token, so keep it secret',
    )
    .argument('<pool>', 'name of the MachineConfigPool')
    .addOption(serverUrl())
    .addOption(caFile())
    .addOption(
      new Option(
        '--token-file <file>',
        'read the token from a file; - is standard input',
      ).conflicts(['token', 'ttl', 'open']),
    )
    .addOption(
      new Option('--token <token>', 'the token; other users of this machine can see it').conflicts([
        'ttl',
        'open',
      ]),
    )
    .addOption(ttl().conflicts('open'))
    .addOption(new Option('--open', 'no token, for a server in join mode open'))
    .option(
      '--host-settings <file>',
      'host.yaml of the machines: also installs the host worker, for an image without one',
    )
    .addOption(orderKeysFile())
    .action((pool: string, options: PointerOptions) =>
      run((context) => printPointerConfig(context, pool, options))(),
    );
}

function orderKeysFile(): Option {
  return new Option(
    '--order-keys-file <file>',
    'order-keys.json of the machines; default: from configmap slipway/slipway-order-keys',
  );
}

export function addCloudConfig(program: Command, run: Run): void {
  program
    .command('cloud-config')
    .description(
      'print user data for cloud-init that installs the host worker on new machines; it contains no secret',
    )
    .requiredOption('--host-settings <file>', 'host.yaml of the machines')
    .addOption(orderKeysFile())
    .addOption(serverUrl())
    .addOption(caFile())
    .action((options: CloudConfigOptions) =>
      run((context) => printCloudConfig(context, options))(),
    );
}
