/** Commands of `slipway` with flags and help. docs/cli.md is generated from them. */

import { Command, Option } from 'commander';
import { doctor } from './commands/doctor';
import { showDrift } from './commands/drift';
import { getNodes, getPools, getRollouts } from './commands/get';
import { type HostOptions, hostSettle, hostStatus } from './commands/host';
import { nodeHistory, rolloutHistory } from './commands/history';
import { nodeRequest, nodeStatus } from './commands/node';
import { planPool } from './commands/plan';
import { rolloutCancel, rolloutPause, rolloutResume, rolloutStart } from './commands/rollout';
import { rolloutStatus } from './commands/rollout-status';
import type { Shell } from './completion';
import { completionScript, SHELLS } from './completion';
import type { ExitCode } from './exit-codes';
import { cliError, EXIT } from './exit-codes';
import { addCloudConfig, addJoinToken, addPointerConfig } from './join-program';
import {
  type OutputOption,
  outputOption,
  type Run,
  watchable,
  type WatchFlags,
  watchOptions,
} from './options';
import { printData } from './output';
import type { CliContext } from './ports';
import { VERSION } from '../process/version';
import { PROCESSES } from './processes/processes';
import { addOs } from './os-program';
import { addRender } from './render-program';
import { addSetup } from './setup-program';
import { addDebug, addSupportBundle } from './support-program';

export interface GlobalOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly temporalProfile?: string;
  readonly temporalConfigFile?: string;
  readonly temporalAddress?: string;
  readonly temporalNamespace?: string;
  readonly temporalTlsCa?: string;
  readonly temporalTlsCert?: string;
  readonly temporalTlsKey?: string;
  readonly temporalTlsServerName?: string;
  readonly temporalApiKey?: string;
  readonly temporalApiKeyFile?: string;
  readonly color: boolean;
}

/** `exit` receives the code of the command that ran. */
interface ProgramHost {
  context(options: GlobalOptions): CliContext;
  exit(code: ExitCode): void;
}

/** Nothing runs before `parseAsync`. */
export function buildProgram(host: ProgramHost): Command {
  const program = new Command('slipway')
    .description(
      'Rolls out operating-system images and node configuration to the nodes of a Kubernetes cluster.',
    )
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster (default: KUBECONFIG, then the pod, then ~/.kube/config)',
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option(
      '--temporal-profile <name>',
      'profile of temporal.toml, for what is not given otherwise (TEMPORAL_PROFILE)',
    )
    .option(
      '--temporal-config-file <file>',
      'temporal.toml (default: TEMPORAL_CONFIG_FILE, then ~/.config/temporalio/temporal.toml)',
    )
    .option(
      '--temporal-address <host:port>',
      'frontend of Temporal (default: TEMPORAL_ADDRESS, then the profile, then 127.0.0.1:7233)',
    )
    .option(
      '--temporal-namespace <name>',
      'namespace in Temporal (default: TEMPORAL_NAMESPACE, then the profile, then slipway)',
    )
    .option('--temporal-tls-ca <file>', 'PEM file: authority of Temporal (TEMPORAL_TLS_CA)')
    .option('--temporal-tls-cert <file>', 'PEM file: client certificate (TEMPORAL_TLS_CERT)')
    .option(
      '--temporal-tls-key <file>',
      'PEM file: key of the client certificate (TEMPORAL_TLS_KEY)',
    )
    .option(
      '--temporal-tls-server-name <name>',
      'name in the certificate of Temporal (TEMPORAL_TLS_SERVER_NAME)',
    )
    .option(
      '--temporal-api-key <key>',
      'API key for Temporal; prefer the variable or the file (TEMPORAL_API_KEY)',
    )
    .option('--temporal-api-key-file <file>', 'file with the API key (TEMPORAL_API_KEY_FILE)')
    .option('--no-color', 'no colours; the same as NO_COLOR')
    .version(`slipway ${VERSION}`, '-V, --version', 'print the version')
    .helpCommand(false)
    .showSuggestionAfterError();

  const run = (work: (context: CliContext) => Promise<ExitCode>) => async () => {
    host.exit(await work(host.context(program.opts<GlobalOptions>())));
  };

  addPlan(program, run);
  addRollout(program, run);
  addNode(program, run);
  addDrift(program, run);
  addOs(program, run);
  addGet(program, run);
  addDoctor(program, run);
  addSupportBundle(program, run);
  addDebug(program, run);
  addJoinToken(program, run);
  addPointerConfig(program, run);
  addCloudConfig(program, run);
  addRender(program, run);
  addSetup(program, run);
  addHost(program, run);
  addProcesses(program);
  program
    .command('version')
    .description('print the version')
    .addOption(outputOption())
    .action((options: OutputOption) =>
      run(async ({ terminal }) => {
        const { output } = options;
        if (output === 'json' || output === 'yaml')
          printData({ version: VERSION }, output, terminal);
        else terminal.out.write(`slipway ${VERSION}\n`);
        return EXIT.OK;
      })(),
    );
  program
    .command('completion')
    .description('print a completion script; use it with: source <(slipway completion bash)')
    .addArgument(program.createArgument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) =>
      run(async ({ terminal }) => {
        terminal.out.write(completionScript(program, shell));
        return EXIT.OK;
      })(),
    );
  return program;
}

function addPlan(program: Command, run: Run): void {
  program
    .command('plan')
    .description(
      'show what a rollout would do: the order of nodes, the cost of each change with the rule that decided, and what would block it',
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
    .description('start, watch and control the rollout of a pool');
  const onPool = (name: string, description: string) =>
    rollout
      .command(name)
      .description(description)
      .argument('<pool>', 'name of the MachineConfigPool');

  watchable(onPool('start', 'start the rollout, or wake the running one')).action(
    (pool: string, flags: WatchFlags) => {
      const options = watchOptions(flags);
      return run(async (context) => {
        const code = await rolloutStart(context, pool, options);
        return options.watch ? rolloutStatus(context, pool, options) : code;
      })();
    },
  );
  watchable(
    onPool(
      'status',
      'show the progress of the rollout; with --watch, as a live tree until it ends',
    ),
  ).action((pool: string, flags: WatchFlags) => {
    const options = watchOptions(flags);
    return run((context) => rolloutStatus(context, pool, options))();
  });
  onPool('pause', 'start no more nodes; running updates finish')
    .option('--reason <text>', 'reason, for the record', 'paused from the command line')
    .action((pool: string, options: { reason: string }) =>
      run((context) => rolloutPause(context, pool, options.reason))(),
    );
  onPool('resume', 'continue the rollout of a paused pool')
    .option('--reason <text>', 'reason, for the record', 'resumed from the command line')
    .action((pool: string, options: { reason: string }) =>
      run((context) => rolloutResume(context, pool, options.reason))(),
    );
  onPool(
    'cancel',
    'end the rollout; updates before their reboot are undone, the others finish',
  ).action((pool: string) => run((context) => rolloutCancel(context, pool))());
  rollout
    .command('history')
    .description(
      'list what was rolled out in a pool, or in all, and who stepped in; kept in the cluster, beyond the retention of Temporal',
    )
    .argument('[pool]', 'name of the MachineConfigPool')
    .addOption(outputOption())
    .action((pool: string | undefined, options: OutputOption) =>
      run((context) => rolloutHistory(context, pool, options.output))(),
    );
}

function addNode(program: Command, run: Run): void {
  const node = program
    .command('node')
    .description('show one node, or retry, skip or cancel its update');
  const onNode = (name: string, description: string) =>
    node.command(name).description(description).argument('<node>', 'name of the Node');

  onNode('status', 'show the progress of one node')
    .addOption(outputOption())
    .action((name: string, options: OutputOption) =>
      run((context) => nodeStatus(context, name, options.output))(),
    );
  onNode('history', 'list the updates of one node and who stepped in; kept on the Node')
    .addOption(outputOption())
    .action((name: string, options: OutputOption) =>
      run((context) => nodeHistory(context, name, options.output))(),
    );
  const verbs = [
    [
      'retry',
      'update a failed or held node again, or one that is down and has never reported its config',
    ],
    ['skip', 'leave a node out until the config changes; refused once it reboots'],
    ['cancel', 'cancel the update of a node and hold it; refused once it reboots'],
  ] as const;
  for (const [verb, description] of verbs) {
    onNode(verb, description)
      .option('--reason <text>', 'reason, for the record')
      .action((name: string, options: { reason?: string }) =>
        run((context) => nodeRequest(context, verb, name, options.reason))(),
      );
  }
}

function addDrift(program: Command, run: Run): void {
  program
    .command('drift')
    .description(
      'list the paths of a node that differ from its config, since when, and what was repaired',
    )
    .argument('<node>', 'name of the Node')
    .addOption(outputOption())
    .action((name: string, options: OutputOption) =>
      run((context) => showDrift(context, name, options.output))(),
    );
}

function addGet(program: Command, run: Run): void {
  const get = program.command('get').description('list pools, nodes or rollouts');
  const watched = (name: string, description: string) =>
    watchable(get.command(name).description(description));

  watched('pools', 'list the MachineConfigPools').action((flags: WatchFlags) => {
    const options = watchOptions(flags);
    return run((context) => getPools(context, options))();
  });
  watched('nodes', 'list the nodes with their configs')
    .option('--pool <name>', 'only the nodes of this pool')
    .action((flags: WatchFlags & { readonly pool?: string }) => {
      const options = watchOptions(flags);
      return run((context) => getNodes(context, options, flags.pool))();
    });
  get
    .command('rollouts')
    .description('list the rollouts of all pools')
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => getRollouts(context, options.output))());
}

function addDoctor(program: Command, run: Run): void {
  program
    .command('doctor')
    .description(
      'check versions, installation, permissions, certificates, clocks, pools and host workers; ' +
        'each finding names the command that mends it',
    )
    .addOption(outputOption())
    .action((options: OutputOption) => run((context) => doctor(context, options.output))());
}

function addHost(program: Command, run: Run): void {
  const host = program
    .command('host')
    .description('on a machine: show or finish what Slipway does there; needs no server');
  const here = (name: string, description: string) =>
    host
      .command(name)
      .description(description)
      .option('--config-file <file>', 'settings of the machine (default: /etc/slipway/host.yaml)');
  here('status', 'show config, operating system, unfinished update, last order and connection')
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'json'])
        .default('table'),
    )
    .action((options: HostOptions & { output: 'table' | 'json' }) =>
      run((context) => hostStatus(context, options, options.output))(),
    );
  here('settle', 'finish or undo an unfinished update, as at boot; may reboot the machine').action(
    (options: HostOptions) => run((context) => hostSettle(context, options))(),
  );
}

/**
 * For the help: cli/main.ts starts a process before this program is loaded. After global flags a
 * process is refused, because no process has all of them.
 */
function addProcesses(program: Command): void {
  for (const { name, description } of PROCESSES) {
    program
      .command(name)
      .description(`${description} (see slipway ${name} --help)`)
      .helpOption(false)
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw cliError(
          EXIT.USAGE,
          `${name} is a process: its name comes first and its flags after it, ` +
            `slipway ${name} [flags]; slipway ${name} --help lists them`,
        );
      });
  }
}
