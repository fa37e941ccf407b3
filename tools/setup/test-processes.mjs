// Child processes of `npm test`: each has its own process group, and all end with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const running = new Set();
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);

export function stop() {
  stopped = true;
  for (const child of running) endGroup(child, 'SIGTERM');
}

export function isStopped() {
  return stopped;
}

/** @returns {import('node:child_process').ChildProcess} ended when this program is */
export function startGroup(root, command, args, stdio) {
  const child = spawn(command, args, { cwd: root, stdio, detached: true });
  running.add(child);
  const forget = () => running.delete(child);
  child.once('error', forget).once('close', forget);
  return child;
}

/** Signals the child and all its descendants; does nothing when they are gone. */
export function endGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * One step of the set-up: a Node program that prints its own messages.
 *
 * @returns {Promise<string | undefined>} why it failed, in a few words
 */
export async function runSetUp(root, args) {
  if (isStopped()) return 'stopped';
  try {
    const [status, signal] = await once(
      startGroup(root, process.execPath, args, 'inherit'),
      'close',
    );
    return status === 0 ? undefined : (signal ?? `exit status ${status}`);
  } catch (error) {
    return error.message;
  }
}
