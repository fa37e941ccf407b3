/** The commands of `slipway`, their flags and their help. docs/cli.md is generated from this. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { getNodes, getPools, getRollouts } from './commands/get';
import { nodeRequest, nodeStatus } from './commands/node';
import { planPool } from './commands/plan';
import {
  rolloutCancel,
  rolloutHistory,
  rolloutPause,
  rolloutResume,
  rolloutStart,
} from './commands/rollout';
import { rolloutStatus } from './commands/rollout-status';
import type { Shell } from './completion';
import { completionScript, SHELLS } from './completion';
import { parseDuration } from './durations';
import type { ExitCode } from './exit-codes';
import { EXIT } from './exit-codes';
import type { OutputFormat } from './output';
import { OUTPUT_FORMATS } from './output';
import type { CliContext } from './ports';
import { PROCESSES } from './processes';
import { VERSION } from './version';

/** Flags that every command takes. */
export interface GlobalOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly temporalAddress?: string;
  readonly temporalNamespace?: string;
  readonly color: boolean;
}

/** How the program reaches the outside; `exit` gets the code of the command that ran. */
export interface ProgramHost {
  context(options: GlobalOptions): CliContext;
  exit(code: ExitCode): void;
}

interface OutputOption {
  readonly output: OutputFormat;
}

/** Builds the command tree; nothing runs before `parseAsync`. */
export function buildProgram(host: ProgramHost): Command {
  const program = new Command('slipway')
    .description(
      'Rolls operating-system images and node configuration through a Kubernetes cluster.',
    )
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster (default: KUBECONFIG, then the pod, then ~/.kube/config)',
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option(
      '--temporal-address <host:port>',
      'Temporal frontend (default: TEMPORAL_ADDRESS, then 127.0.0.1:7233)',
    )
    .option(
      '--temporal-namespace <name>',
      'Temporal namespace (default: TEMPORAL_NAMESPACE, then slipway)',
    )
    .option('--no-color', 'no colours, also when NO_COLOR is set or the output is not a terminal')
    .helpCommand(false)
    .showSuggestionAfterError();

  /** Runs a command with a context and hands its exit code on. */
  const run = (work: (context: CliContext) => Promise<ExitCode>) => async () => {
    host.exit(await work(host.context(program.opts<GlobalOptions>())));
  };

  addPlan(program, run);
  addRollout(program, run);
  addNode(program, run);
  addGet(program, run);
  addProcesses(program);
  program
    .command('version')
    .description('print the version')
    .addOption(outputOption())
    .action((options: OutputOption) =>
      run(async ({ terminal }) => {
        const text =
          options.output === 'json' ? JSON.stringify({ version: VERSION }) : `slipway ${VERSION}`;
        terminal.out.write(`${text}\n`);
        return EXIT.OK;
      })(),
    );
  program
    .command('completion')
    .description('print a completion script: source <(slipway completion bash)')
    .addArgument(program.createArgument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) =>
      run(async ({ terminal }) => {
        terminal.out.write(completionScript(program, shell));
        return EXIT.OK;
      })(),
    );
  return program;
}

type Run = (work: (context: CliContext) => Promise<ExitCode>) => () => Promise<void>;

function addPlan(program: Command, run: Run): void {
  program
    .command('plan')
    .description(
      'show what a rollout would do: nodes in order, what each change costs and why, what would block',
    )
    .argument('<pool>', 'name of the MachineConfigPool')
    .addOption(outputOption())
    .action((pool: string, options: OutputOption) =>
      run((context) => planPool(context, pool, options.output))(),
    );
}

function addRollout(program: Command, run: Run): void {
  const rollout = program
    .command('rollout')
    .description('start, watch and steer the rollout of a pool');
  const onPool = (name: string, description: string) =>
    rollout
      .command(name)
      .description(description)
      .argument('<pool>', 'name of the MachineConfigPool');

  onPool('start', 'start the rollout, or wake the one that runs').action((pool: string) =>
    run((context) => rolloutStart(context, pool))(),
  );
  onPool('status', 'show where the rollout stands; with --watch a live tree until it ends')
    .option('-w, --watch', 'keep watching; Ctrl-C detaches and the rollout goes on', false)
    .option('--timeout <duration>', 'give up watching after this long, e.g. 90s, 30m', duration)
    .addOption(outputOption())
    .action((pool: string, options: OutputOption & { watch: boolean; timeout?: number }) =>
      run((context) =>
        rolloutStatus(context, pool, {
          watch: options.watch,
          output: options.output,
          ...(options.timeout === undefined ? {} : { timeoutSeconds: options.timeout }),
        }),
      )(),
    );
  onPool('pause', 'let nodes in flight finish and start no other')
    .option('--reason <text>', 'why, for the record', 'paused from the command line')
    .action((pool: string, options: { reason: string }) =>
      run((context) => rolloutPause(context, pool, options.reason))(),
    );
  onPool('resume', 'let a paused pool roll again')
    .option('--reason <text>', 'why, for the record', 'resumed from the command line')
    .action((pool: string, options: { reason: string }) =>
      run((context) => rolloutResume(context, pool, options.reason))(),
    );
  onPool(
    'cancel',
    'end the rollout: nodes before their reboot are undone, the others finish',
  ).action((pool: string) => run((context) => rolloutCancel(context, pool))());
  onPool('history', 'list the rollouts of a pool')
    .addOption(outputOption())
    .action((pool: string, options: OutputOption) =>
      run((context) => rolloutHistory(context, pool, options.output))(),
    );
}

function addNode(program: Command, run: Run): void {
  const node = program
    .command('node')
    .description('look at one node, or retry, skip or cancel its update');
  const onNode = (name: string, description: string) =>
    node.command(name).description(description).argument('<node>', 'name of the Node');

  onNode('status', 'show where one node stands')
    .addOption(outputOption())
    .action((name: string, options: OutputOption) =>
      run((context) => nodeStatus(context, name, options.output))(),
    );
  const verbs = [
    ['retry', 'try a failed or held node again'],
    ['skip', 'leave a node out until the config changes'],
    ['cancel', 'cancel the update of a node and hold it; too late once it reboots'],
  ] as const;
  for (const [verb, description] of verbs) {
    onNode(verb, description)
      .option('--reason <text>', 'why, for the record')
      .action((name: string, options: { reason?: string }) =>
        run((context) => nodeRequest(context, verb, name, options.reason))(),
      );
  }
}

function addGet(program: Command, run: Run): void {
  const get = program.command('get').description('list pools, nodes or rollouts');
  get
    .command('pools')
    .description('list the MachineConfigPools')
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => getPools(context, options.output))());
  get
    .command('nodes')
    .description('list the nodes with their configs')
    .option('--pool <name>', 'only the nodes of this pool')
    .addOption(outputOption())
    .action((options: OutputOption & { pool?: string }) =>
      run((context) => getNodes(context, options.output, options.pool))(),
    );
  get
    .command('rollouts')
    .description('list the rollouts of all pools')
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => getRollouts(context, options.output))());
}

/** Named here for the help only: cli/main.ts starts them before this program is loaded. */
function addProcesses(program: Command): void {
  for (const { name, description } of PROCESSES) {
    program.command(name).description(`${description} (see slipway ${name} --help)`);
  }
}

function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print')
    .choices(OUTPUT_FORMATS)
    .default('table');
}

function duration(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds <= 0) {
    throw new InvalidArgumentError('expected a duration such as 90s, 5m or 1h30m.');
  }
  return seconds;
}
