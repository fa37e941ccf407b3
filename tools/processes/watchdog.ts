import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root';
import { startTimeOf } from './identity';

/**
 * A Node script that holds a pipe to this process and ends its children when the pipe closes, as at
 * every kind of end, SIGKILL included. So programs keep their own signal handlers.
 */
let watchdog: ChildProcess | undefined;

/** Sent again to a restarted watchdog. */
const children = new Map<number, string>();
const directories = new Set<string>();

/**
 * Call it right after the start.
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
 * After its children ended.
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
    // It must survive Ctrl-C, which goes to the whole group of the terminal.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  started.once('exit', () => {
    if (watchdog === started) watchdog = undefined;
  });
  started.once('error', () => {
    if (watchdog === started) watchdog = undefined;
  });
  // The 'exit' handler replaces a killed watchdog.
  started.stdin?.on('error', () => undefined);
  started.unref();
  // It must not keep this process alive. It is a socket, which the types do not show.
  (started.stdin as Socket | null)?.unref();
  for (const [pid, startTime] of children) {
    started.stdin?.write(`${JSON.stringify({ add: pid, startTime })}\n`);
  }
  for (const path of directories) {
    started.stdin?.write(`${JSON.stringify({ addDirectory: path })}\n`);
  }
  return started;
}
