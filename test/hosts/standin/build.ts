/** Built once per state of the sources. */

import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { requireCargo, requireLibraries } from '../../../tools/binaries/cargo';
import { withLock } from '../../../tools/binaries/lock';
import { reportOnStderr, withProgress } from '../../../tools/binaries/progress';
import { run } from '../../../tools/binaries/run-program';
import { sourceDigest } from '../../../tools/binaries/rust-programs';
import { isExecutable } from '../../../tools/binaries/search-path';
import { readSettings, type BinarySettings } from '../../../tools/binaries/settings';
import { repositoryRoot } from '../../../tools/repository-root';

export const STAND_INS = ['rpm-ostree', 'bootc', 'podman'] as const;
export type StandIn = (typeof STAND_INS)[number];

/** Dependencies are compiled once for both crates. */
const TARGET = join('slipway-ostree', 'target');
const LOCK = 'slipway-ostree.lock';

const OVERRIDE = 'SLIPWAY_STANDINS';

/** By name: from the directory in SLIPWAY_STANDINS, or built with the lock file. */
export async function ensureStandIns(
  settings: BinarySettings = readSettings(),
): Promise<Readonly<Record<StandIn, string>>> {
  const named = settings.environment[OVERRIDE];
  if (named !== undefined && named !== '') return programsIn(named);
  const root = repositoryRoot();
  const crate = join(root, 'test', 'hosts', 'standin');
  const library = join(root, 'programs', 'slipway-ostree');
  const digests = await Promise.all([sourceDigest(crate), sourceDigest(library)]);
  const name = createHash('sha256').update(digests.join()).digest('hex').slice(0, 16);
  const directory = join(settings.cacheDirectory, 'standin', name);
  const isBuilt = async (): Promise<boolean> =>
    (await Promise.all(Object.values(programsIn(directory)).map(isExecutable))).every(Boolean);
  if (!(await isBuilt())) {
    await withLock(join(settings.cacheDirectory, LOCK), 'building the stand-ins', async () => {
      if (!(await isBuilt())) await build(crate, directory, settings);
    });
  }
  return programsIn(directory);
}

function programsIn(directory: string): Readonly<Record<StandIn, string>> {
  const path = (program: StandIn): string => join(directory, program);
  return { 'rpm-ostree': path('rpm-ostree'), bootc: path('bootc'), podman: path('podman') };
}

async function build(crate: string, directory: string, settings: BinarySettings): Promise<void> {
  const target = join(settings.cacheDirectory, TARGET);
  const cargo = await requireCargo(crate, settings);
  await requireLibraries(settings);
  const environment = { ...settings.environment, CARGO_TARGET_DIR: target };
  const words = ['build', '--release', '--locked', '--bins'];
  await withProgress(
    reportOnStderr,
    'building the stand-ins for rpm-ostree and bootc',
    'built the stand-ins for rpm-ostree and bootc',
    () => run(cargo, words, environment, crate),
  );
  await mkdir(directory, { recursive: true });
  for (const program of STAND_INS) {
    const partial = join(directory, `${program}.partial`);
    await copyFile(join(target, 'release', program), partial);
    await chmod(partial, 0o755);
    await rename(partial, join(directory, program));
  }
}
