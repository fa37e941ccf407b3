import type { Command } from 'commander';
import { RegistryClient } from '../adapters/registry';
import { osSet } from './commands/os-set';
import { osStatus } from './commands/os-status';
import { type OutputOption, outputOption, type Run } from './options';

interface SetFlags {
  readonly release?: string;
  readonly extensions?: string;
  readonly pool?: string;
  readonly authfile?: string;
}

export function addOs(program: Command, run: Run): void {
  const os = program.command('os').description('set and show the OS image of the pools');
  os.command('set')
    .description(
      'set the OS image of the cluster, or of one pool; a tag is looked up and its digest written',
    )
    .argument('[image]', 'the OS image: registry/name@sha256:… or registry/name:tag')
    .option('--release <image>', 'payload image of a release, which names OS and extensions image')
    .option('--extensions <image>', 'image that holds the packages of the extensions')
    .option(
      '--pool <name>',
      'write a MachineConfig of this pool (99-NAME-os) instead of the ControllerConfig',
    )
    .option('--authfile <file>', 'registry credentials (default: those of podman and docker)')
    .action((image: string | undefined, { authfile, ...flags }: SetFlags) =>
      run((context) => {
        const env = authfile === undefined ? {} : { REGISTRY_AUTH_FILE: authfile };
        const registry = new RegistryClient({ ...process.env, ...env }, context.signal);
        return osSet(context, image, { ...flags, registry });
      })(),
    );
  os.command('status')
    .description('show the wanted OS image of each pool, and those that its nodes run')
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => osStatus(context, options.output))());
}
