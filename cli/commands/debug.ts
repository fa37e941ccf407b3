/** `slipway debug NODE`: a shell or a command on the machine, or an archive of what its host worker logged. */

import { resolve } from 'node:path';
import { execInPod } from '../../adapters/kube/exec';
import { collectHost } from '../debug/collect';
import { CONTAINER, HOST } from '../debug/pod';
import { type DebugSession, inDebugPod } from '../debug/session';
import { cliError, EXIT, type ExitCode } from '../exit-codes';
import type { CliContext, StandardStreams } from '../ports';
import { createArchive } from '../support/archive';
import { Bundle } from '../support/bundle';
import { VERSION } from '../../process/version';

export interface DebugOptions {
  readonly namespace: string;
  readonly image?: string;
  /** The command runs on the machine, not in the image. */
  readonly chroot: boolean;
  /** A command gets the input, as a shell always does. */
  readonly stdin: boolean;
}

/** Exits with 4 when the command did not end with 0. */
export async function debugNode(
  context: CliContext,
  node: string,
  command: readonly string[],
  options: DebugOptions,
): Promise<ExitCode> {
  const { terminal, streams } = context;
  const argv = command.length > 0 ? command : shell(streams);
  const withInput = options.stdin || command.length === 0 || hasTerminal(streams);
  const code = await interruptible(context, (signal) =>
    inPod({ ...context, signal }, node, options, (session) =>
      attached(context, session, {
        ...{ argv: options.chroot ? onHost(argv) : argv, signal },
        ...(withInput ? { input: streams.in } : {}),
      }),
    ),
  );
  if (code === 0 || command.length === 0) return EXIT.OK;
  terminal.err.write(`${command[0]} ended with exit code ${code}\n`);
  return EXIT.FAILED;
}

/** As `debugNode`, without a terminal. */
export async function collectNode(
  context: CliContext,
  node: string,
  options: DebugOptions & {
    readonly file?: string;
    readonly sinceSeconds: number;
    readonly limitBytes: number;
  },
): Promise<ExitCode> {
  const createdAt = new Date(context.now()).toISOString();
  const { sinceSeconds, limitBytes } = options;
  const name = `slipway-debug-${node}-${createdAt.replace(/[:.]/g, '-')}.tar.gz`;
  const file = resolve(options.file ?? name);
  const archive = await createArchive(file, limitBytes);
  try {
    const bundle = new Bundle(archive);
    await interruptible(context, (signal) =>
      inPod({ ...context, signal }, node, options, async (session) => {
        const kube = await context.support.kube();
        await collectHost(kube, bundle, { ...session, sinceSeconds, signal });
      }),
    );
    const about = { command: 'slipway debug --collect', version: VERSION, createdAt, node };
    const bytes = await bundle.end({ ...about, sinceSeconds, limitBytes });
    bundle.summarize(context.terminal, bytes);
    context.terminal.out.write(`${file}\n`);
    return EXIT.OK;
  } catch (error) {
    await archive.discard();
    throw error;
  }
}

async function inPod<T>(
  context: Pick<CliContext, 'support' | 'terminal' | 'signal'>,
  node: string,
  { namespace, image }: DebugOptions,
  work: (session: DebugSession) => Promise<T>,
): Promise<T> {
  const { terminal, signal } = context;
  const around = { client: await context.support.kube(), terminal, signal };
  return inDebugPod(around, { node, namespace, ...(image === undefined ? {} : { image }) }, work);
}

/** Ctrl-C and a reader that closed the pipe end the work; the pod is deleted all the same. */
async function interruptible<T>(
  { signal, streams }: CliContext,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const closed = new AbortController();
  const onError = (error: Error): void => closed.abort(error);
  streams.out.on('error', onError);
  const either = AbortSignal.any([signal, closed.signal]);
  try {
    return await work(either);
  } catch (error) {
    if (either.aborted) throw cliError(EXIT.FAILED, 'interrupted; the pod is deleted');
    throw error;
  } finally {
    streams.out.off('error', onError);
  }
}

async function attached(
  { support, streams }: CliContext,
  { pod, namespace }: DebugSession,
  work: {
    readonly argv: readonly string[];
    readonly input?: StandardStreams['in'];
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const { argv, ...rest } = work;
  const isTerminal = hasTerminal(streams);
  if (isTerminal) streams.in.setRawMode?.(true);
  try {
    return await execInPod(await support.kube(), {
      ...{ pod, namespace, container: CONTAINER, command: argv, ...rest },
      ...{ output: streams.out, errors: streams.err },
      ...(isTerminal ? { terminal: terminalOf(streams) } : {}),
    });
  } finally {
    if (isTerminal) streams.in.setRawMode?.(false);
  }
}

function hasTerminal(streams: StandardStreams): boolean {
  return streams.in.isTTY === true && streams.out.isTTY === true;
}

function terminalOf({ out }: StandardStreams) {
  return {
    // Some terminals say 0.
    size: () => ({ columns: out.columns || 80, rows: out.rows || 24 }),
    onResize: (listener: () => void) => {
      out.on('resize', listener);
      return () => void out.off('resize', listener);
    },
  };
}

function onHost(argv: readonly string[]): readonly string[] {
  return ['chroot', HOST, ...argv];
}

/** Bash where there is one. Without a terminal the shell reads a script from its input. */
function shell(streams: StandardStreams): readonly string[] {
  if (!hasTerminal(streams)) return ['sh'];
  const term = `TERM=${streams.term ?? 'xterm'}`;
  const start = 'if command -v bash > /dev/null; then exec bash -l; else exec sh -l; fi';
  return ['env', term, 'sh', '-c', start];
}
