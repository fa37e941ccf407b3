/** The folder of a machine is a file system of its own, which a story can fill. */

import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from '../execute';

export interface SmallDisk {
  /** @param left - bytes that stay free; default: a megabyte */
  fill(left?: number): void;
  /** Removes what `fill` wrote. */
  free(): void;
  /** After the machine was removed. */
  remove(): Promise<void>;
}

const MIB = 1024 * 1024;

/**
 * Where the machine of this name will be installed.
 *
 * @param mebibytes - operating system included
 */
export async function createSmallDisk(machine: string, mebibytes: number): Promise<SmallDisk> {
  const folder = join(process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '', 'machines', machine);
  const ballast = join(folder, 'ballast');
  await mkdir(folder, { recursive: true });
  await execute('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', folder]);
  return {
    fill: (left = MIB) => {
      const { bavail, bsize } = statfsSync(folder);
      execFileSync('fallocate', ['--length', String(bavail * bsize - left), ballast]);
    },
    free: () => rmSync(ballast, { force: true }),
    remove: async () => {
      await execute('umount', [folder]);
    },
  };
}
