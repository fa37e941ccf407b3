/** The folder of a machine is a file system of its own, which a story can fill. */

import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from '../execute';
import type { Lifetime } from '../lifetime';

export interface SmallDisk {
  /** @param left - bytes that stay free; default: a megabyte */
  fill(left?: number): void;
  /** Removes what `fill` wrote. */
  free(): void;
}

const MIB = 1024 * 1024;

/**
 * Where the machine of this name will be installed; before the machine, so that it ends after it.
 *
 * @param mebibytes - operating system included
 */
export async function createSmallDisk(
  lifetime: Lifetime,
  machine: string,
  mebibytes: number,
): Promise<SmallDisk> {
  const folder = join(process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '', 'machines', machine);
  const ballast = join(folder, 'ballast');
  await mkdir(folder, { recursive: true });
  await lifetime.own(
    () => execute('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', folder]),
    () => execute('umount', [folder]),
  );
  return {
    fill: (left = MIB) => {
      const { bavail, bsize } = statfsSync(folder);
      execFileSync('fallocate', ['--length', String(bavail * bsize - left), ballast]);
    },
    free: () => rmSync(ballast, { force: true }),
  };
}
