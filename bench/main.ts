/** `npm run bench -- NAME [flags]`: the figures of docs/performance.md. */

import { Command, InvalidArgumentError } from 'commander';
import { messageOf } from '../core/errors';
import { parseDuration } from '../cli/durations';
import { formatTable } from '../cli/table';
import { runRenderBench } from './render';
import { runRolloutBench } from './rollout';

interface RolloutFlags {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly nodeTime: number;
  readonly canary: number;
  readonly json: boolean;
}

async function main(): Promise<void> {
  const program = new Command('bench').description('Measures Slipway on this machine.');
  program
    .command('rollout')
    .description('roll one config that reboots every node through simulated hosts')
    .option('--nodes <count>', 'worker nodes', atLeast(1), 200)
    .option('--max-unavailable <count>', 'nodes at once', atLeast(1), 20)
    .option('--node-time <duration>', 'simulated time of one reboot', seconds, 10)
    .option('--canary <count>', 'canary nodes of the policy', atLeast(0), 0)
    .option('--json', 'one JSON object on standard output', false)
    .action(rollout);
  program
    .command('render')
    .description('render 60 × 4 KiB and 1,000 × 256 B MachineConfigs')
    .option('--json', 'one JSON object on standard output', false)
    .action(async (options: { json: boolean }) => {
      print(await runRenderBench(), options.json);
    });
  await program.parseAsync();
}

async function rollout(flags: RolloutFlags): Promise<void> {
  const result = await runRolloutBench({
    nodes: flags.nodes,
    maxUnavailable: flags.maxUnavailable,
    nodeTimeSeconds: flags.nodeTime,
    canaryNodes: flags.canary,
    onStep: (text) => process.stderr.write(`bench: ${text}\n`),
  });
  print(result, flags.json);
  if (result.violations.length > 0) process.exitCode = 1;
}

function atLeast(least: number) {
  return (text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least}.`);
  };
}

function seconds(text: string): number {
  const value = parseDuration(text);
  if (value !== undefined && value > 0) return value;
  throw new InvalidArgumentError('expected a duration such as 10s.');
}

interface Figure {
  readonly name: string;
  readonly value: string;
}

function print(result: object, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  const rows = Object.entries(result).map(([name, value]) => ({
    name,
    value: typeof value === 'object' ? JSON.stringify(value) : String(value),
  }));
  const lines = formatTable<Figure>(
    [
      { header: 'FIGURE', value: (row) => row.name },
      { header: 'VALUE', value: (row) => row.value },
    ],
    rows,
    { wide: true },
  );
  process.stdout.write(`${lines.join('\n')}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`bench: ${messageOf(error)}\n`);
  process.exitCode = 1;
});
