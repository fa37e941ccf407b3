/** Machines with rpm-ostree or bootc (test/hosts/standin). */

import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Registry } from '../../../tools/registry';
import { digestOfTag, writeLayout } from '../build/oci-layout';
import { execute } from '../execute';
import type { Machine } from '../machine/machine';
import { varOf } from '../machine/sysroot';
import { ensureStandIns, STAND_INS, type StandIn } from '../standin/build';

/** Below /var: the same in every deployment. */
const PROGRAMS = 'usrlocal/bin';

/** Removes the other programs, and has the host worker choose its driver again. */
export async function carry(
  machine: Machine,
  driver: 'rpm-ostree' | 'bootc',
  programs: readonly StandIn[],
): Promise<void> {
  const all = await ensureStandIns();
  const folder = join(varOf(machine.sysroot), PROGRAMS);
  for (const name of STAND_INS) {
    const path = join(folder, name);
    await rm(path, { force: true });
    if (!programs.includes(name)) continue;
    await copyFile(all[name], path);
    await chmod(path, 0o755);
  }
  await machine.output('systemctl', 'restart', 'slipway-host.service');
  await machine.untilLogged(`"driver":"${driver}"`, 'OS driver chosen');
}

/** Place of the packages in an extensions image. */
const PACKAGES = 'usr/share/rpm-ostree/extensions';

/**
 * @param packages - for each, its files: path from the root of the machine → text
 * @returns the reference with its digest
 */
export async function publishPackages(
  registry: Registry,
  packages: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<string> {
  const work = await mkdtemp(join(registry.directory, 'packages-'));
  try {
    const folder = join(work, 'folder');
    for (const [name, files] of Object.entries(packages)) {
      for (const [path, text] of Object.entries(files)) {
        const real = join(folder, PACKAGES, name, path);
        await mkdir(dirname(real), { recursive: true });
        await writeFile(real, text);
      }
    }
    const layout = join(work, 'oci');
    await writeLayout(layout, 'packages', folder);
    await execute('skopeo', [
      ...['copy', '--quiet', '--dest-tls-verify=false', '--preserve-digests'],
      ...[`oci:${layout}:packages`, `docker://${registry.address}/extensions:latest`],
    ]);
    return `${registry.address}/extensions@${await digestOfTag(layout, 'packages')}`;
  } finally {
    await rm(work, { recursive: true });
  }
}
