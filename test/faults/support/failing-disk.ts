/** Disks of simulated hosts that fail for a while. */

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

/** @returns a function that makes it writable again */
export function makeReadOnly(directory: string): () => void {
  // Made aside and moved over the directory in one step.
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
  fill(): void;
  free(): void;
  /** Moves the contents back; no process may use the directory meanwhile. */
  end(): void;
}

/**
 * A disk of its own; no process may use the directory meanwhile.
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

const BLOCK_BYTES = 4096;

/** Replaces what is at `to`. */
function copy(from: string, to: string): void {
  for (const name of readdirSync(to)) rmSync(join(to, name), { recursive: true });
  execFileSync('cp', ['-a', `${from}/.`, to]);
}

export interface SlowDisk {
  heldUp(): number;
  end(): Promise<void>;
}

/** They put a file into its place; simulated hosts sync nothing. */
const CALLS = 'rename,renameat,renameat2';

/**
 * Linux itself delays the calls (ptrace), so the process stays unchanged.
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
  // strace reports each attached thread.
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
