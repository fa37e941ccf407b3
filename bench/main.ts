/** `npm run bench -- NAME [flags]`: the figures of docs/performance.md. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '../core/errors';
import { parseDuration } from '../cli/durations';
import { ServerSettings } from '../server/settings';
import { wholeNumber } from '../tools/whole-number';
import { runChurn } from './churn';
import { runEvictionsBench } from './evictions';
import { figureLines, rowLines } from './figures';
import { tooShort } from './growth';
import { runGatewayBench, type GatewayBenchOptions } from './gateway';
import { runGeneratedBench } from './generated-configs';
import { runHostBench } from './host';
import { runHostBundleBench } from './host-bundle';
import { runRenderBench } from './render';
import { runRolloutBench } from './rollout';
import { runServerBench } from './server';
import { TEMPORAL_KINDS, type SimulatedPoolOptions, type TemporalKind } from './simulated-pool';
import { runTwoWorkersBench } from './two-workers';

interface RolloutFlags {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly nodeTime: number;
  readonly canary: number;
  readonly temporal: TemporalKind;
  readonly encoded: boolean;
  readonly json: boolean;
}

interface ChurnFlags extends RolloutFlags {
  readonly minutes: number;
}

/** After the commands in the help. */
const OUTPUT = `
Figures of the output:
  steps                   of the updates, medians in ms: queued, under way, until the workflow goes on
  rssMiB, mostRssMiB      memory of each process at the end, and the most it ever had (Linux only)
  standstillSeconds       longest time in which one more node could be out, one waited and none was cordoned
  leaseAge                age of the oldest Lease of a kubelet; an old one means that the machine is overloaded
  failedTasks, lateTasks  workflow tasks whose result the server refused, or that were late
  disksCompared           disks that were compared with their configs at the end

rollout, churn, evictions and two-workers end with exit code 1 when a promise was broken.
"npm run --silent bench -- render --json" prints one JSON object and nothing else.`;

const GROWTH = `
It also ends with exit code 1 when something grew ("grown"): MachineConfigNodes, Leases, rendered configs
beyond those that are kept, or memory of a Slipway process after garbage collection. Live memory (liveMiB)
may grow by a twentieth and 4 MiB, resident memory (collectedRssMiB) by a tenth and 16 MiB. Fewer than
eight rounds, or less than half an hour, are not judged.`;

async function main(): Promise<void> {
  const program = new Command('bench')
    .description('Measures Slipway on this machine.')
    .addHelpText('after', OUTPUT);
  simulatedPool(program.command('rollout'))
    .description('roll one config that reboots every node through simulated hosts')
    .action(rollout);
  simulatedPool(program.command('churn'))
    .description('roll one config after the other through simulated hosts, and measure what grows')
    .option('--minutes <count>', 'how long; the last config finishes', wholeNumber(1), 60)
    .addHelpText('after', GROWTH)
    .action(churn);
  simulatedPool(program.command('evictions'), 20, 2)
    .description(
      'how often pods are evicted, without the taint of nodes that will be drained, and with it',
    )
    .option('--pods <count>', 'pods of five Deployments', wholeNumber(1), 60)
    .action(evictions);
  simulatedPool(program.command('two-workers'), 60, 10)
    .description(
      'kill one of two cluster workers in a rollout; cancel updates that wait for a grant',
    )
    .option('--kills <count>', 'workers that are killed, one after the other', wholeNumber(1), 4)
    .option('--cancels <count>', 'updates that are cancelled', wholeNumber(1), 50)
    .action(twoWorkers);
  program
    .command('generated-configs')
    .description(
      'change the feature gates of all kubelets, with three KubeletConfigs for three pools',
    )
    .option('--nodes <count>', 'Nodes of the largest pool', wholeNumber(1), 5000)
    .option('--json', 'one JSON object on standard output', false)
    .action(async ({ nodes, json }: { nodes: number; json: boolean }) => {
      print(
        await runGeneratedBench({
          nodes,
          onStep: (text) => process.stderr.write(`bench: ${text}\n`),
        }),
        json,
      );
    });
  program
    .command('host-bundle')
    .description('let all hosts wait for certificates and secrets, and change them once')
    .option('--hosts <count>', 'hosts, each with a connection', wholeNumber(1), 5000)
    .option(
      '--max-connections <count>',
      'limit of the server',
      wholeNumber(1),
      ServerSettings.shape.maxConnections.parse(undefined),
    )
    .option('--json', 'one JSON object on standard output', false)
    .action(hostBundle);
  program
    .command('render')
    .description('render 60 × 4 KiB and 1,000 × 256 B MachineConfigs')
    .option('--json', 'one JSON object on standard output', false)
    .action(async (options: { json: boolean }) => {
      print(await runRenderBench(), options.json);
    });
  program
    .command('host')
    .description('update a machine that boots, with image and reboot; the undo journal')
    .option('--updates <count>', 'updates of the machine; 0 = only the journal', wholeNumber(0), 3)
    .option('--files <count>', 'files of the journal', wholeNumber(1), 100)
    .option('--bytes <count>', 'bytes of each of them', wholeNumber(0), 4096)
    .option('--runs <count>', 'runs of the journal that count', wholeNumber(1), 11)
    .option('--directory <path>', 'where the files are written: the disk that is measured')
    .option('--json', 'one JSON object on standard output', false)
    .action(host);
  program
    .command('server')
    .description('fetch first configs over TLS: many on kept connections, then a boot storm')
    .option('--connections <count>', 'connections at once', wholeNumber(1), 50)
    .option('--seconds <count>', 'time for each version', wholeNumber(1), 10)
    .option('--reply-bytes <count>', 'size of the reply at spec 3.4', wholeNumber(100_000), 750_000)
    .option('--machines <count>', 'machines of the boot storm', wholeNumber(1), 2_000)
    .option('--idle <count>', 'idle connections', wholeNumber(1), 10_000)
    .option('--json', 'one JSON object on standard output', false)
    .action(server);
  program
    .command('gateway')
    .description('hosts that wait at the gateway to Temporal, and orders through it')
    .option('--hosts <count>', 'hosts, each with a connection', wholeNumber(1), 5_000)
    .option('--idle-seconds <count>', 'time without an order', wholeNumber(1), 60)
    .option('--tasks <count>', 'orders, each to another host', wholeNumber(1), 2_000)
    .option('--tasks-per-second <count>', 'orders in a second', wholeNumber(1), 50)
    .option('--json', 'one JSON object on standard output', false)
    .action(gateway);
  await program.parseAsync();
}

function simulatedPool(command: Command, nodes = 200, atOnce = 20): Command {
  return command
    .option('--nodes <count>', 'worker nodes', wholeNumber(1), nodes)
    .option('--max-unavailable <count>', 'nodes at once', wholeNumber(1), atOnce)
    .option('--node-time <duration>', 'simulated time of one reboot', seconds, 10)
    .option('--canary <count>', 'canary nodes of the policy', wholeNumber(0), 0)
    .addOption(
      new Option(
        '--temporal <kind>',
        'the development server in memory, or the server for production on PostgreSQL',
      )
        .choices(TEMPORAL_KINDS)
        .default('memory'),
    )
    .option('--encoded', 'with encoded payloads, and hosts at the gateway', false)
    .option('--json', 'one JSON object on standard output', false);
}

async function rollout(flags: RolloutFlags): Promise<void> {
  const result = await runRolloutBench(poolOptions(flags));
  print(result, flags.json);
  if (result.violations.length > 0) process.exitCode = 1;
}

interface EvictionsFlags extends RolloutFlags {
  readonly pods: number;
}

async function evictions(flags: EvictionsFlags): Promise<void> {
  const result = await runEvictionsBench({ ...poolOptions(flags), pods: flags.pods });
  print(result, flags.json);
  if (result.violations.length > 0) process.exitCode = 1;
}

interface TwoWorkersFlags extends RolloutFlags {
  readonly kills: number;
  readonly cancels: number;
}

async function twoWorkers({ kills, cancels, ...flags }: TwoWorkersFlags): Promise<void> {
  const pool = { ...poolOptions(flags), prepareAhead: cancels };
  const result = await runTwoWorkersBench({ ...pool, kills, cancels });
  print(result, flags.json);
  if (result.violations.length > 0) process.exitCode = 1;
}

async function churn(flags: ChurnFlags): Promise<void> {
  const result = await runChurn({ ...poolOptions(flags), minutes: flags.minutes });
  print(result, flags.json);
  const why = tooShort(result);
  if (why !== undefined) process.stderr.write(`bench: growth is not judged: ${why}\n`);
  if (result.violations.length > 0 || (result.grown ?? []).length > 0) process.exitCode = 1;
}

function poolOptions(flags: RolloutFlags): SimulatedPoolOptions {
  return {
    nodes: flags.nodes,
    maxUnavailable: flags.maxUnavailable,
    nodeTimeSeconds: flags.nodeTime,
    canaryNodes: flags.canary,
    temporal: flags.temporal,
    encodesPayloads: flags.encoded,
    onStep: (text) => process.stderr.write(`bench: ${text}\n`),
  };
}

interface HostFlags {
  readonly updates: number;
  readonly files: number;
  readonly bytes: number;
  readonly runs: number;
  readonly directory?: string;
  readonly json: boolean;
}

async function host({ files, bytes, runs, directory, updates, json }: HostFlags): Promise<void> {
  const where = directory === undefined ? {} : { directory };
  const onStep = (text: string): boolean => process.stderr.write(`bench: ${text}\n`);
  const options = { files, bytesPerFile: bytes, runs, updates, onStep, ...where };
  const result = await runHostBench(options);
  if (json) return print(result, true);
  const { ways, ...journal } = result.journal;
  printRows('The undo journal', ways);
  print(journal, false);
  if (result.machine === undefined) return;
  const { phases, reboot, whole, pull, ...rest } = result.machine;
  const { workerIdle, workerIdleAfterwards, workerBusy, ...machine } = rest;
  printRows('One update of a machine', phases);
  printRows('Its reboot', reboot);
  printRows('The whole update', whole);
  for (const figures of [machine, pull, { workerIdle, workerBusy, workerIdleAfterwards }]) {
    print(figures, false);
    process.stdout.write('\n');
  }
}

interface ServerFlags {
  readonly connections: number;
  readonly seconds: number;
  readonly replyBytes: number;
  readonly machines: number;
  readonly idle: number;
  readonly json: boolean;
}

interface HostBundleFlags {
  readonly hosts: number;
  readonly maxConnections: number;
  readonly json: boolean;
}

async function hostBundle({ json, ...options }: HostBundleFlags): Promise<void> {
  const onStep = (text: string): boolean => process.stderr.write(`bench: ${text}\n`);
  print(await runHostBundleBench({ ...options, onStep }), json);
}

async function server({ json, ...options }: ServerFlags): Promise<void> {
  const onStep = (text: string): boolean => process.stderr.write(`bench: ${text}\n`);
  const { rows, storms, idle, ...rest } = await runServerBench({ ...options, onStep });
  if (json) {
    print({ ...rest, rows, storms, idle }, true);
    return;
  }
  print(rest, false);
  for (const row of [...rows, ...storms, idle]) {
    process.stdout.write('\n');
    print(row, false);
  }
}

async function gateway({
  json,
  ...options
}: Omit<GatewayBenchOptions, 'onStep'> & { readonly json: boolean }): Promise<void> {
  const onStep = (text: string): boolean => process.stderr.write(`bench: ${text}\n`);
  print(await runGatewayBench({ ...options, onStep }), json);
}

function seconds(text: string): number {
  const value = parseDuration(text);
  if (value !== undefined && value > 0) return value;
  throw new InvalidArgumentError('expected a duration such as 10s.');
}

function printRows(title: string, rows: readonly object[]): void {
  process.stdout.write(`\n${title}\n\n${rowLines(rows).join('\n')}\n\n`);
}

function print(result: object, json: boolean): void {
  process.stdout.write(`${json ? JSON.stringify(result) : figureLines(result).join('\n')}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`bench: ${messageOf(error)}\n`);
  process.exitCode = 1;
});
