/** Disks of simulated hosts that fail for a while: their host worker does not know that anybody is at it. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** From now on nothing can be written below the directory. @returns what makes it writable again */
export function makeReadOnly(directory: string): () => void {
  // Made where nobody writes, and then put over it at once.
  const aside = mkdtempSync(join(tmpdir(), 'slipway-read-only-'));
  execFileSync('mount', ['--bind', directory, aside]);
  execFileSync('mount', ['-o', 'remount,bind,ro', aside]);
  execFileSync('mount', ['--bind', aside, directory]);
  return () => {
    execFileSync('umount', ['--lazy', directory]);
    execFileSync('umount', ['--lazy', aside]);
    rmdirSync(aside);
  };
}

export interface SlowDisk {
  /** How many files have been held up so far. */
  heldUp(): number;
  /** As fast as before. */
  end(): Promise<void>;
}

/** What puts a file into its place; simulated hosts sync nothing. */
const CALLS = 'rename,renameat,renameat2';

/**
 * From now on each file that the process puts into its place takes this much longer. Linux itself has the
 * call wait (ptrace), so the process is what it is.
 *
 * @throws Error without Debian's package strace
 */
export async function makeSlow(pid: number, ms: number): Promise<SlowDisk> {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-slow-disk-'));
  const calls = join(directory, 'calls');
  const tracer = spawn(
    'strace',
    [
      ...['-f', '-p', String(pid), '-o', calls],
      ...['-e', `trace=${CALLS}`, '-e', `inject=${CALLS}:delay_enter=${ms * 1000}`],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const ended = once(tracer, 'exit');
  // It says so for each thread that it holds.
  await Promise.race([
    once(tracer.stderr, 'data'),
    ended.then(() => Promise.reject(new Error('strace ended; install the package strace'))),
  ]);
  return {
    heldUp: () => readFileSync(calls, 'utf8').split('(DELAYED)').length - 1,
    end: async () => {
      tracer.kill('SIGTERM');
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}
