/** Entry point of `slipway`: parse, run, exit with a code of docs/cli.md. */

import { CommanderError } from 'commander';
import { messageOf } from '../core/errors';
import type { ExitCode } from './exit-codes';
import { EXIT, exitCodeOfError } from './exit-codes';
import type { GlobalOptions } from './program';
import { PROCESSES } from './processes/processes';
import { runProcess } from './processes/run-process';

async function main(argv: readonly string[]): Promise<ExitCode> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stop.abort(name));
  }
  // `slipway get nodes | head` closes the pipe early. A command that has to clean up listens itself.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (process.stdout.listenerCount('error') > 1) return;
    if (error.code === 'EPIPE') process.exit(EXIT.OK);
    throw error;
  });

  const entry = PROCESSES.find(({ name }) => name === argv[2]);
  if (entry !== undefined) return runProcess(entry, argv.slice(3), process.env, stop.signal);
  return runCommand(argv, stop.signal);
}

/** The clients of Kubernetes and Temporal are loaded only for commands. */
async function runCommand(argv: readonly string[], signal: AbortSignal): Promise<ExitCode> {
  const [{ buildProgram }, { openConnections }, { openTerminal }] = await Promise.all([
    import('./program.js'),
    import('./connections.js'),
    import('./terminal.js'),
  ]);
  let code: ExitCode = EXIT.OK;
  const connections: { close(): Promise<void> }[] = [];
  const program = buildProgram({
    exit: (result) => {
      code = result;
    },
    context: (options: GlobalOptions) => {
      const warn = (text: string): void => void process.stderr.write(`slipway: ${text}\n`);
      const opened = openConnections(options, process.env, signal, warn);
      connections.push(opened);
      return {
        terminal: openTerminal(
          { out: process.stdout, err: process.stderr },
          { color: options.color, env: process.env },
        ),
        now: Date.now,
        signal,
        user: () => opened.user(),
        cluster: () => opened.cluster(),
        temporal: () => opened.temporal(),
        temporalSetup: () => opened.temporalSetup(),
        doctor: opened.doctor,
        support: opened.support,
        streams: {
          ...{ in: process.stdin, out: process.stdout, err: process.stderr },
          ...(process.env['TERM'] === undefined ? {} : { term: process.env['TERM'] }),
        },
      };
    },
  });
  program.exitOverride();
  for (const command of program.commands) {
    command.exitOverride();
    for (const child of command.commands) child.exitOverride();
  }
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    return report(error);
  } finally {
    await Promise.all(connections.map((connection) => connection.close()));
  }
}

function report(error: unknown): ExitCode {
  if (error instanceof CommanderError) {
    // Help and version are no errors; an incomplete command is.
    const isBare = error.code === 'commander.help' && process.argv.length <= 2;
    return error.exitCode === 0 || isBare ? EXIT.OK : EXIT.USAGE;
  }
  process.stderr.write(`slipway: ${messageOf(error)}\n`);
  const code = exitCodeOfError(error);
  if (code === EXIT.INTERNAL && error instanceof Error)
    process.stderr.write(`${error.stack ?? ''}\n`);
  return code;
}

void main(process.argv).then((code) => {
  process.exitCode = code;
});
