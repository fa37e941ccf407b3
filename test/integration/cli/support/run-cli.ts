/** Runs a command of the program in this process, as cli/main.ts does. */

import { Readable, Writable } from 'node:stream';
import { openConnections } from '../../../../cli/connections';
import { EXIT, type ExitCode, exitCodeOfError } from '../../../../cli/exit-codes';
import { buildProgram, type GlobalOptions } from '../../../../cli/program';
import { openTerminal } from '../../../../cli/terminal';
import { messageOf } from '../../../../core/errors';

export interface CliRun {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly signal: AbortSignal;
  readonly input: string;
}

export async function runCli(
  args: readonly string[],
  { signal = new AbortController().signal, input = '' }: Partial<RunOptions> = {},
): Promise<CliRun> {
  let code: ExitCode = EXIT.OK;
  let out = '';
  let err = '';
  const opened: { close(): Promise<void> }[] = [];
  const program = buildProgram({
    exit: (result) => (code = result),
    context: (options: GlobalOptions) => {
      const connections = openConnections(options, {}, signal, (text) => (err += text));
      opened.push(connections);
      const sinks = {
        out: { write: (text: string) => (out += text) },
        err: { write: (text: string) => (err += text) },
      };
      return {
        terminal: openTerminal(sinks, { color: false, env: {} }),
        ...{ now: Date.now, signal },
        user: () => connections.user(),
        cluster: () => connections.cluster(),
        temporal: () => connections.temporal(),
        temporalSetup: () => connections.temporalSetup(),
        ...{ doctor: connections.doctor, support: connections.support },
        streams: {
          in: Readable.from(input === '' ? [] : [Buffer.from(input)]),
          out: sink((text) => (out += text)),
          err: sink((text) => (err += text)),
        },
      };
    },
  });
  try {
    await program.parseAsync(['node', 'slipway', ...args]);
  } catch (error) {
    err += messageOf(error);
    code = exitCodeOfError(error);
  } finally {
    await Promise.all(opened.map((connections) => connections.close()));
  }
  return { code, out, err };
}

function sink(write: (text: string) => void): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      write(chunk.toString());
      done();
    },
  });
}
