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
  [EXIT.INTERNAL, 'an unexpected error; the message and the stack name it'],
  [EXIT.USAGE, 'wrong flags, arguments or settings'],
  [EXIT.NOT_FOUND, 'no such pool, node, rollout or join token'],
  [
    EXIT.FAILED,
    'the rollout halted or was cancelled, a node failed, the pool is degraded, the request was refused, or a command of `debug` failed',
  ],
  [EXIT.TIMED_OUT, '`--timeout` passed'],
  [EXIT.PAUSED, 'the pool is paused, or its rollout is paused in Temporal'],
  [EXIT.UNREACHABLE, 'Temporal, the Kubernetes API or all cluster workers do not answer'],
];

/** `docs/cli.md`, from the program itself. */
export function cliDocument(): string {
  const program = buildProgram({
    context: () => {
      throw new Error('the document runs no command');
    },
    exit: () => undefined,
  });
  const commands = program.commands.filter((command) => LOADED[command.name()] === undefined);
  return `${[
    '<!-- Generated from cli/program.ts by `npm run generate`. Do not edit. -->',
    '# The `slipway` command',
    program.description(),
    'Data goes to standard output, messages to standard error. Colours and live trees need a terminal. With `kubectl-slipway` on the PATH, `kubectl slipway` is the same command.',
    '## Flags of every command',
    table(optionRows(program.options)),
    ...commandFlags(commands),
    '## Exit codes',
    [
      '| code | meaning |',
      '| --- | --- |',
      ...EXIT_MEANINGS.map(([code, text]) => `| ${code} | ${text} |`),
    ].join('\n'),
    ...commands.flatMap((command) => sections(command, ['slipway'], sharedRows(commands))),
    '## The processes',
    'Each setting is a flag or an environment variable (in brackets); the flag wins. Times are in seconds. If settings are invalid, the process names every problem and ends with exit code 2.',
    ...processSections(),
  ].join('\n\n')}\n`;
}

/** Shared flags; the sections of commands only name these. */
function commandFlags(commands: readonly Command[]): readonly string[] {
  return [
    '## Flags of several commands',
    'The usage of a command names those that it takes.',
    table([...sharedRows(commands)]),
  ];
}

/** With the same meaning in each. */
function sharedRows(commands: readonly Command[]): ReadonlySet<string> {
  const rows = commands.flatMap(function leaves(command: Command): readonly string[] {
    return command.commands.length > 0
      ? command.commands.flatMap(leaves)
      : optionRows(command.options);
  });
  return new Set(rows.filter((row, index) => rows.indexOf(row) !== index));
}

function sections(
  command: Command,
  path: readonly string[],
  shared: ReadonlySet<string>,
): readonly string[] {
  const words = [...path, command.name()];
  if (command.commands.length > 0) {
    return [
      `## \`${words.join(' ')}\``,
      sentence(command.description()),
      ...command.commands.flatMap((child) => sections(child, words, shared)),
    ];
  }
  const level = path.length > 1 ? '###' : '##';
  const own = command.options.filter((option) => !shared.has(rowOf(option)));
  const others = command.options.filter((option) => shared.has(rowOf(option)));
  const usage = [
    ...words,
    ...command.registeredArguments.map(argumentText),
    ...others.map(({ short, long }) => `[${short ?? long ?? ''}]`),
  ].join(' ');
  return [
    `${level} \`${usage}\``,
    sentence(command.description()),
    ...(own.length > 0 ? [table(optionRows(own))] : []),
  ];
}

/** After a table of the settings that several processes have. */
function processSections(): readonly string[] {
  const commands = PROCESSES.flatMap((entry) => {
    const loaded = LOADED[entry.name];
    return loaded === undefined ? [] : [processCommand(entry, loaded)];
  });
  const users = new Map<string, string[]>();
  for (const command of commands) {
    const name = command.name().replace('slipway ', '');
    for (const row of optionRows(command.options)) {
      users.set(row, [...(users.get(row) ?? []), name]);
    }
  }
  const isShared = (row: string) => (users.get(row) ?? []).length > 1;
  const shared = [...users].filter(([row]) => isShared(row));
  return [
    '### Settings of several processes',
    [
      '| flag | meaning | processes |',
      '| --- | --- | --- |',
      ...shared.map(([row, names]) => `${row} ${names.join(', ')} |`),
    ].join('\n'),
    ...commands.flatMap((command) => {
      const own = optionRows(command.options).filter((row) => !isShared(row));
      return [
        `### \`${command.name()}\``,
        sentence(command.description()),
        ...(own.length > 0 ? [table(own)] : []),
      ];
    }),
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

function table(rows: readonly string[]): string {
  return ['| flag | meaning |', '| --- | --- |', ...rows].join('\n');
}

function optionRows(options: readonly Option[]): readonly string[] {
  return options.map(rowOf);
}

function rowOf(option: Option): string {
  const choices = option.argChoices === undefined ? '' : ` (${option.argChoices.join(', ')})`;
  const value = option.defaultValue as string | boolean | number | undefined | readonly string[];
  const fallback =
    value === undefined || value === false || Array.isArray(value) || option.negate
      ? ''
      : `; default ${String(value)}`;
  const text = `${option.description}${choices}${fallback}`.replaceAll('|', '\\|');
  return `| \`${option.flags}\` | ${text} |`;
}
