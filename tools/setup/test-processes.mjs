// What `npm test` starts: each in a process group of its own, all ended with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const running = new Set();
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);

/** Ends what runs, and begins nothing more. */
export function stop() {
  stopped = true;
  for (const child of running) endGroup(child, 'SIGTERM');
}

/** Somebody has asked for the end: nothing is begun any more. */
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

/** The child and all that it has started; nothing when they are gone. */
export function endGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * One step of the set-up: a program of Node, which speaks for itself.
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
