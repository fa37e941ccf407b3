/** The product as installed: the host worker, its units, and slipway-ostree. */

import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { digestOf } from './inputs';
import { ensureRustProgram } from '../../../tools/binaries/rust-programs';

const BUNDLE = join('dist', 'host-bundle');
const UNITS = join('deploy', 'host');
const FALLBACK = 'slipway-host-fallback';

export async function productDigest(): Promise<string> {
  const paths = [BUNDLE, UNITS].map((folder) => join(repositoryRoot(), folder));
  return digestOf([], [...paths, await ensureRustProgram('slipway-ostree')]);
}

/** As a package of the product would. */
export async function makeProduct(directory: string): Promise<void> {
  const root = repositoryRoot();
  const programs = join(directory, 'usr/bin');
  const units = join(directory, 'usr/lib/systemd/system');
  await mkdir(programs, { recursive: true });
  await mkdir(units, { recursive: true });
  await cp(join(root, BUNDLE), join(directory, 'usr/lib/slipway'), { recursive: true });
  await cp(await ensureRustProgram('slipway-ostree'), join(programs, 'slipway-ostree'));
  const start = '#!/bin/sh\nexec /usr/bin/node /usr/lib/slipway/slipway-host.cjs "$@"\n';
  await writeFile(join(programs, 'slipway'), start);
  await chmod(join(programs, 'slipway'), 0o755);
  await cp(join(root, UNITS, FALLBACK), join(programs, FALLBACK));
  for (const name of await readdir(join(root, UNITS))) {
    if (!name.endsWith('.service')) continue;
    const unit = await readFile(join(root, UNITS, name), 'utf8');
    // /usr/local belongs to the machine; an image has its programs in /usr/bin.
    await writeFile(join(units, name), unit.replaceAll('/usr/local/bin/', '/usr/bin/'));
    await enable(directory, name, unit);
  }
}

/** From the `[Install]` section of the unit. */
async function enable(directory: string, name: string, unit: string): Promise<void> {
  for (const [, kind = '', targets = ''] of unit.matchAll(/^(WantedBy|RequiredBy)=(.*)$/gm)) {
    const suffix = kind === 'WantedBy' ? 'wants' : 'requires';
    for (const target of targets.split(' ')) {
      const folder = join(directory, 'etc/systemd/system', `${target}.${suffix}`);
      await mkdir(folder, { recursive: true });
      await symlink(`/usr/lib/systemd/system/${name}`, join(folder, name));
    }
  }
}
