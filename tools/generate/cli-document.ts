import type { Argument, Command, Option } from 'commander';
import { EXIT } from '../../cli/exit-codes';
import { clusterWorkerCommand } from '../../cli/processes/cluster-worker';
import { controllersCommand } from '../../cli/processes/controllers';
import { hostFirstBootCommand } from '../../cli/processes/host-first-boot';
import { hostSettleCommand } from '../../cli/processes/host-settle';
import { hostWorkerCommand } from '../../cli/processes/host-worker';
import { PROCESSES } from '../../cli/processes/processes';
import type { ProcessCommand } from '../../cli/processes/process-command';
import { processCommand } from '../../cli/processes/run-process';
import { serverCommand } from '../../cli/processes/server';
import { buildProgram } from '../../cli/program';

const LOADED: Readonly<Record<string, ProcessCommand>> = {
  controllers: controllersCommand,
  'cluster-worker': clusterWorkerCommand,
  'host-worker': hostWorkerCommand,
  'host-settle': hostSettleCommand,
  'host-first-boot': hostFirstBootCommand,
  server: serverCommand,
};

const EXIT_MEANINGS: readonly (readonly [number, string])[] = [
  [EXIT.OK, 'done; for `rollout status`: rolling or complete'],
  [EXIT.INTERNAL, 'something unforeseen; the message and the stack name it'],
  [EXIT.USAGE, 'wrong flags, arguments or settings'],
  [EXIT.NOT_FOUND, 'no such pool, node, rollout or join token'],
  [
    EXIT.FAILED,
    'the rollout halted, a node failed, the pool is degraded, or the request was refused',
  ],
  [EXIT.TIMED_OUT, '`--timeout` passed'],
  [EXIT.PAUSED, 'the pool is paused, or its rollout in Temporal'],
  [EXIT.UNREACHABLE, 'Temporal, the Kubernetes API or every cluster worker does not answer'],
];

/** `docs/cli.md`: commands, flags and exit codes, from the program itself. */
export function cliDocument(): string {
  const program = buildProgram({
    context: () => {
      throw new Error('the document runs no command');
    },
    exit: () => undefined,
  });
  return `${[
    '<!-- Generated from cli/program.ts by `npm run generate`. Do not edit. -->',
    '# The `slipway` command',
    program.description(),
    'Data goes to standard output, everything else to standard error. Colours and redrawing only on a terminal. As `kubectl-slipway` on the PATH it is also `kubectl slipway`.',
    '## Flags of every command',
    optionTable(program.options),
    '## Exit codes',
    [
      '| code | meaning |',
      '| --- | --- |',
      ...EXIT_MEANINGS.map(([code, text]) => `| ${code} | ${text} |`),
    ].join('\n'),
    ...program.commands
      .filter((command) => LOADED[command.name()] === undefined)
      .flatMap((command) => sections(command, ['slipway'])),
    '## The processes',
    'Each setting is a flag or an environment variable (in brackets); the flag wins. A setting that cannot be used ends the process with exit code 2 and names every problem.',
    ...PROCESSES.flatMap((entry) => {
      const loaded = LOADED[entry.name];
      return loaded === undefined ? [] : processSection(processCommand(entry, loaded));
    }),
  ].join('\n\n')}\n`;
}

function sections(command: Command, path: readonly string[]): readonly string[] {
  const words = [...path, command.name()];
  if (command.commands.length > 0) {
    return [
      `## \`${words.join(' ')}\``,
      sentence(command.description()),
      ...command.commands.flatMap((child) => sections(child, words)),
    ];
  }
  const level = path.length > 1 ? '###' : '##';
  const usage = [...words, ...command.registeredArguments.map(argumentText)].join(' ');
  return [
    `${level} \`${usage}\``,
    sentence(command.description()),
    ...(command.options.length > 0 ? [optionTable(command.options)] : []),
  ];
}

function processSection(command: Command): readonly string[] {
  return [
    `### \`${command.name()}\``,
    sentence(command.description()),
    optionTable(command.options),
  ];
}

function argumentText(argument: Argument): string {
  const name = argument.name().toUpperCase();
  return argument.required ? name : `[${name}]`;
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return first.endsWith('.') ? first : `${first}.`;
}

function optionTable(options: readonly Option[]): string {
  const rows = options.map((option) => {
    const choices = option.argChoices === undefined ? '' : ` (${option.argChoices.join(', ')})`;
    const value = option.defaultValue as string | boolean | number | undefined | readonly string[];
    const fallback =
      value === undefined || value === false || Array.isArray(value) || option.negate
        ? ''
        : `; default ${String(value)}`;
    const text = `${option.description}${choices}${fallback}`.replaceAll('|', '\\|');
    return `| \`${option.flags}\` | ${text} |`;
  });
  return ['| flag | meaning |', '| --- | --- |', ...rows].join('\n');
}
