/** Disks of simulated hosts that fail for a while: their host worker does not know that anybody is at it. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
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

export interface SmallDisk {
  /** Somebody else takes what is left, to the last block. */
  fill(): void;
  /** They give it back. */
  free(): void;
  /** The directory is where it was before, with what is in it now; nobody may be at it meanwhile. */
  end(): void;
}

/**
 * The directory becomes a disk of its own, with what is in it; nobody may be at it meanwhile.
 *
 * @param mebibytes - of the whole disk
 */
export function makeSmall(directory: string, mebibytes: number): SmallDisk {
  const ballast = join(directory, 'ballast');
  const aside = mkdtempSync(join(tmpdir(), 'slipway-small-disk-'));
  copy(directory, aside);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'slipway-test', directory]);
  copy(aside, directory);
  return {
    fill: () => {
      const fd = openSync(ballast, 'a');
      try {
        for (;;) writeSync(fd, Buffer.alloc(BLOCK_BYTES, 'b'));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(fd);
      }
    },
    free: () => rmSync(ballast, { force: true }),
    end: () => {
      rmSync(ballast, { force: true });
      copy(directory, aside);
      execFileSync('umount', ['--lazy', directory]);
      copy(aside, directory);
      rmSync(aside, { recursive: true });
    },
  };
}

/** What a tmpfs gives at a time. */
const BLOCK_BYTES = 4096;

/** With everything that belongs to a file; what was there before goes. */
function copy(from: string, to: string): void {
  for (const name of readdirSync(to)) rmSync(join(to, name), { recursive: true });
  execFileSync('cp', ['-a', `${from}/.`, to]);
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
