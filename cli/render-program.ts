import { type Command, Option } from 'commander';
import { render, type RenderOptions } from './commands/render';
import type { Run } from './options';

export function addRender(program: Command, run: Run): void {
  program
    .command('render')
    .description(
      'render the pools of manifests without a cluster, as the controllers do; --check only says what is wrong',
    )
    .requiredOption(
      '--manifest-dir <directory...>',
      'manifests: *.yaml, *.yml and *.json, also below; may be given several times',
    )
    .option(
      '--dest-dir <directory>',
      'where to write pools and rendered configs, for slipway server',
    )
    .option('--check', 'write nothing; exit 4 when a pool could not be rendered or updated', false)
    .option(
      '--partial',
      'with --check: pools may select MachineConfigs that are in the cluster',
      false,
    )
    .option('--strict', 'take warnings for errors', false)
    .option('--against <directory>', 'result of an earlier render, which running machines are on')
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'),
    )
    .action((options: RenderOptions) => run((context) => render(context, options))());
}
