import { type Command, Option } from 'commander';
import { render, type RenderOptions } from './commands/render';
import type { Run } from './options';

export function addRender(program: Command, run: Run): void {
  program
    .command('render')
    .description(
      'render pools from manifests without a cluster, with the same result as the controllers',
    )
    .requiredOption(
      '--manifest-dir <directory...>',
      'directory with *.yaml, *.yml and *.json, also in subdirectories; repeatable',
    )
    .option('--dest-dir <directory>', 'write pools and rendered configs here, for slipway server')
    .option(
      '--check',
      'only report problems; exit 4 if a pool could not be rendered or updated',
      false,
    )
    .option('--partial', 'with --check: other objects of the pools are in the cluster', false)
    .option('--strict', 'treat warnings as errors', false)
    .option('--against <directory>', 'result of an earlier render: the configs of running machines')
    .option(
      '--templates-dir <directory>',
      'templates of the controllers; default: those of Slipway',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['text', 'json'])
        .default('text'),
    )
    .action((options: RenderOptions) => run((context) => render(context, options))());
}
