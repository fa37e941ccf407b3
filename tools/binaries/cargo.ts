import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run-program';
import { findOnPath } from './search-path';
import type { BinarySettings } from './settings';
import { compareVersions, parseVersion } from './versions';

/** The name for pkg-config, and the Debian package. */
const LIBRARIES = [
  { module: 'ostree-1', atLeast: '2022.6', package: 'libostree-dev' },
  { module: 'libzstd', atLeast: '1.4', package: 'libzstd-dev' },
  { module: 'openssl', atLeast: '1.1', package: 'libssl-dev' },
  { module: 'zlib', atLeast: '1.2', package: 'zlib1g-dev' },
] as const;

/** @throws Error that names the version needed, when cargo is missing or too old for this crate */
export async function requireCargo(crate: string, settings: BinarySettings): Promise<string> {
  const manifest = join(crate, 'Cargo.toml');
  const needed = /^rust-version = "(\S+)"$/m.exec(await readFile(manifest, 'utf8'))?.[1];
  if (needed === undefined) throw new Error(`${manifest} has no rust-version`);
  const cargo = await findOnPath('cargo', settings.searchPath);
  if (cargo === undefined) {
    throw new Error(`it needs cargo ${needed} or newer on PATH; there is none`);
  }
  const answer = await run(cargo, ['--version'], settings.environment, crate);
  if (compareVersions(parseVersion(answer), parseVersion(needed)) < 0) {
    throw new Error(`it needs cargo ${needed} or newer; ${cargo} is ${answer.trim()}`);
  }
  return cargo;
}

/** @throws Error that names every missing or too old system package */
export async function requireLibraries(settings: BinarySettings): Promise<void> {
  const pkgConfig = await findOnPath('pkg-config', settings.searchPath);
  if (pkgConfig === undefined) {
    const all = LIBRARIES.map((library) => library.package);
    throw new Error(`it needs pkg-config and the system packages ${all.join(', ')}`);
  }
  const missing: string[] = [];
  for (const library of LIBRARIES) {
    const wanted = `${library.module} >= ${library.atLeast}`;
    const isThere = await run(pkgConfig, ['--exists', wanted], settings.environment).then(
      () => true,
      () => false,
    );
    if (!isThere) missing.push(`${library.package} (${wanted})`);
  }
  if (missing.length > 0) throw new Error(`it needs the system packages ${missing.join(', ')}`);
}
