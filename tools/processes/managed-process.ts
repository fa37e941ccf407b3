import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { adoptChild } from './watchdog';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Beside that of this process; undefined = without it. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Ends with this process, however this one ends. */
export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** With the way it ended; never rejects. */
  readonly exited: Promise<string>;
  ending(): string | undefined;
  /** SIGTERM, and SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
  kill(): Promise<void>;
}

const GRACE_MS = 10_000;

/** Its output goes to a file; the watchdog ends it. */
export async function startProcess(spec: ProcessSpec): Promise<ManagedProcess> {
  mkdirSync(dirname(spec.logFile), { recursive: true });
  const log = openSync(spec.logFile, 'a');
  const child = spawn(spec.command, spec.args, {
    // Ctrl-C in the terminal reaches only this process, which ends the server in order.
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...spec.environment },
  });
  closeSync(log);
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error(`${spec.name} started without a process id`);
  const disown = adoptChild(pid);
  let ending: string | undefined;
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (status, signal) => {
      disown();
      ending = signal === null ? `exit status ${status}` : `signal ${signal}`;
      resolve(ending);
    });
  });
  // The watchdog ends it.
  child.unref();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (ending !== undefined) return;
    child.ref(); // wait for its end
    child.kill(signal);
    await exited;
  };
  return {
    name: spec.name,
    pid,
    logFile: spec.logFile,
    exited,
    ending: () => ending,
    kill: () => end('SIGKILL'),
    stop: async (graceMs = GRACE_MS) => {
      const tooLong = new AbortController();
      const force = delay(graceMs, undefined, { signal: tooLong.signal }).then(
        () => end('SIGKILL'),
        () => undefined, // it ended in time
      );
      await end('SIGTERM');
      tooLong.abort();
      await force;
    },
  };
}

/**
 * Fails at once, with the end of its log, when the process ends.
 *
 * @param isReady - may throw, which counts as not ready; the message has the last reason
 */
export async function waitUntilReady(
  server: ManagedProcess,
  isReady: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown = 'it does not answer';
  while (performance.now() < deadline) {
    const ending = server.ending();
    if (ending !== undefined) {
      throw new Error(`${server.name} ended with ${ending}\n${logTail(server.logFile)}`);
    }
    try {
      if (await isReady()) return;
    } catch (error) {
      last = error;
    }
    await delay(50);
  }
  throw new Error(
    `${server.name} is not ready after ${timeoutMs / 1000} s: ${String(last)}\n${logTail(server.logFile)}`,
    { cause: last },
  );
}

const TAIL_CHARACTERS = 3_000;

function logTail(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-TAIL_CHARACTERS) : '';
}
