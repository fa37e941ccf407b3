import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root';
import { startTimeOf } from './identity';

/**
 * The one watchdog of this process: a plain Node script that holds a pipe to us and ends our
 * children when the pipe closes. The kernel closes it on every way out, SIGKILL included, so no
 * signal handlers are needed here, and whoever uses this keeps their own.
 */
let watchdog: ChildProcess | undefined;

/** What the watchdog is told again should it have to be started again. */
const children = new Map<number, string>();
const directories = new Set<string>();

/**
 * Has a child ended should this process die. Call it right after the start.
 *
 * @returns forgets the child; call it when the child has ended
 */
export function adoptChild(pid: number): () => void {
  const startTime = startTimeOf(pid);
  if (startTime === undefined) return () => undefined; // ended already
  tell({ add: pid, startTime });
  children.set(pid, startTime);
  return () => {
    if (children.delete(pid)) tell({ remove: pid });
  };
}

/**
 * Has a temporary directory removed should this process die, after its children ended.
 *
 * @returns forgets the directory
 */
export function adoptDirectory(path: string): () => void {
  tell({ addDirectory: path });
  directories.add(path);
  return () => {
    if (directories.delete(path)) tell({ removeDirectory: path });
  };
}

function tell(change: Readonly<Record<string, unknown>>): void {
  watchdog ??= startWatchdog();
  watchdog.stdin?.write(`${JSON.stringify(change)}\n`);
}

function startWatchdog(): ChildProcess {
  const script = join(repositoryRoot(), 'tools', 'processes', 'watchdog-main.mjs');
  const started = spawn(process.execPath, [script], {
    // A group of its own: Ctrl-C in a terminal goes to the whole group, and it must survive that.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  started.once('exit', () => {
    if (watchdog === started) watchdog = undefined;
  });
  started.once('error', () => {
    if (watchdog === started) watchdog = undefined;
  });
  // Writing to one that was killed must not bring this process down; 'exit' replaces it.
  started.stdin?.on('error', () => undefined);
  started.unref();
  // Nor must the pipe keep this process alive: it is a socket, which the types do not say.
  (started.stdin as Socket | null)?.unref();
  for (const [pid, startTime] of children) {
    started.stdin?.write(`${JSON.stringify({ add: pid, startTime })}\n`);
  }
  for (const path of directories) {
    started.stdin?.write(`${JSON.stringify({ addDirectory: path })}\n`);
  }
  return started;
}
