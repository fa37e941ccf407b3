/**
 * Runs the programs that manage the operating system: an `argv` and never a shell, with limits on
 * time and output. Secrets (values of arguments, credentials) are not quoted.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fail } from '../../../core/errors';

export interface CommandOptions {
  readonly signal?: AbortSignal;
  /** Default: 60 s. */
  readonly timeoutMs?: number;
  /** Between two signals to end; default: 15 s. */
  readonly graceMs?: number;
  /** Of stdout; default: 8 MiB. */
  readonly maxOutputBytes?: number;
  readonly onLine?: (line: string) => void;
  /** From file descriptor 3. */
  readonly onProgressLine?: (line: string) => void;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface CommandEnd {
  /** Absent: it was killed by `killedBy`. */
  readonly status?: number;
  readonly killedBy?: string;
  readonly lines: readonly string[];
  /** Of stderr, without credentials. */
  readonly said: string;
}

/**
 * Successful or not.
 *
 * @throws `OsCommandFailed` when it cannot be started, takes too long or prints too much
 */
export type RunCommand = (
  program: string,
  args: readonly string[],
  options?: CommandOptions,
) => Promise<CommandEnd>;

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const KEPT_ERRORS = 16_384;
const GRACE_MS = 15_000;
/** rpm-ostree's daemon goes on for a killed client. */
const REQUESTS_TO_END = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const;

export const runCommand: RunCommand = (program, args, options = {}) =>
  new Promise((resolve, reject) => {
    const { signal, timeoutMs = TIMEOUT_MS, graceMs = GRACE_MS } = options;
    signal?.throwIfAborted();
    const name = commandName(program, args);
    const child = start(program, args, options);
    const timers: NodeJS.Timeout[] = [];
    let ended: Error | undefined;
    const settle = (answer: () => void): void => {
      timers.forEach((timer) => clearTimeout(timer));
      signal?.removeEventListener('abort', abort);
      answer();
    };
    /** Children of the program may hold its output open. */
    const leave = (reason: Error): void => {
      child.stdio.forEach((stream) => stream?.destroy());
      settle(() => reject(reason));
    };
    /** The first reason counts. */
    const end = (reason: Error): void => {
      if (ended !== undefined) return;
      ended = reason;
      if (hasExited(child)) return leave(reason);
      REQUESTS_TO_END.forEach((request, turn) => {
        if (turn === 0) child.kill(request);
        else timers.push(setTimeout(() => child.kill(request), turn * graceMs));
      });
    };
    const abort = (): void => end(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    const tooLong = (): void => end(broken(name, `took longer than ${timeoutMs / 1000} s`));
    timers.push(setTimeout(tooLong, timeoutMs));

    const read = readOutput(child, options, (what) => end(broken(name, what)));
    child.once('error', (error) => settle(() => reject(cannotStart(program, error))));
    child.once('exit', () => (ended === undefined ? undefined : leave(ended)));
    child.once('close', (status, killedBy) =>
      settle(() => {
        const how = status === null ? { killedBy: String(killedBy) } : { status };
        resolve({ ...how, ...read() });
      }),
    );
  });

/** Node quotes arguments that it refuses, and they may be secret. */
function start(
  program: string,
  args: readonly string[],
  { environment, onProgressLine }: CommandOptions,
): ChildProcess {
  try {
    return spawn(program, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe', onProgressLine === undefined ? 'ignore' : 'pipe'],
    });
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw broken(commandName(program, args), `cannot be started (${code})`);
  }
}

function readOutput(
  child: ChildProcess,
  { maxOutputBytes = MAX_OUTPUT_BYTES, onLine, onProgressLine }: CommandOptions,
  refuse: (what: string) => void,
): () => Pick<CommandEnd, 'lines' | 'said'> {
  const [, stdout, stderr, progress] = child.stdio as unknown as readonly [null, ...Readable[]];
  const lines: string[] = [];
  let printed = 0;
  let errors = '';
  stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.length;
    if (printed > maxOutputBytes) refuse(`printed more than ${maxOutputBytes} bytes`);
  });
  if (stdout !== undefined) {
    createInterface({ input: stdout }).on('line', (line) => {
      if (printed > maxOutputBytes || line.trim() === '') return;
      lines.push(line);
      onLine?.(line);
    });
  }
  stderr?.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk.toString('utf8')}`.slice(-KEPT_ERRORS);
  });
  if (onProgressLine !== undefined && progress !== undefined) {
    createInterface({ input: progress }).on('line', onProgressLine);
  }
  return () => ({ lines, said: lastLine(errors) });
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** @throws `OsCommandFailed` when the last line is not JSON */
export function lastJson(program: string, args: readonly string[], end: CommandEnd): unknown {
  const last = end.lines.at(-1) ?? '';
  try {
    return JSON.parse(last);
  } catch {
    const excerpt = withoutCredentials(last.trim().slice(0, 60));
    throw broken(commandName(program, args), `did not print JSON but '${excerpt}'`);
  }
}

export function failed(program: string, args: readonly string[], end: CommandEnd): Error {
  const how = end.status === undefined ? `killed by ${end.killedBy}` : `exit status ${end.status}`;
  return broken(`${commandName(program, args)}:`, `${end.said || 'it said nothing'} (${how})`);
}

/** A second subcommand follows these words. */
const NESTED = new Set(['admin', 'container', 'override']);

/** Without values, which may be secret: kernel arguments, passwords in URLs. */
function commandName(program: string, args: readonly string[]): string {
  const at = args.findIndex((argument) => /^[a-z][a-z-]*$/.test(argument));
  const subcommand = at === -1 ? [] : args.slice(at, NESTED.has(args[at] ?? '') ? at + 2 : at + 1);
  const names = args.flatMap((argument) => /^--[a-z][a-z-]*/.exec(argument)?.[0] ?? []);
  return [basename(program), ...subcommand, ...new Set(names)].join(' ');
}

function cannotStart(program: string, error: NodeJS.ErrnoException): Error {
  return error.code === 'ENOENT'
    ? broken(program, 'is not installed')
    : broken(program, `cannot be started: ${error.message}`);
}

function broken(subject: string, what: string): Error {
  return fail('OsCommandFailed', `${subject} ${what}`);
}

function lastLine(text: string): string {
  return withoutCredentials(text.trim().split('\n').at(-1)?.trim() ?? '');
}

/** Of `key=value` the key stays. */
export function withoutCredentials(text: string): string {
  return text
    .replace(/:\/\/[^/\s@]+@/g, '://***@')
    .replace(/\b(Basic|Bearer)\s+[\w+/=.~-]+/gi, '$1 ***')
    .replace(/"(auth|password|token|secret)"\s*:\s*"[^"]*"/gi, '"$1":"***"')
    .replace(/([\w.-])=(?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s&"',;)]+)/g, '$1=***');
}
