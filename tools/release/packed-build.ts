/** Builds of earlier versions, as `npm run release:pack` keeps them in test/upgrade/builds. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../repository-root';

/** Exact versions by the name of a package. */
export type PackageVersions = Readonly<Record<string, string>>;

interface BuildRecord {
  readonly version: string;
  /** What it ran with when it was packed. */
  readonly dependencies: PackageVersions;
}

const BUILDS = join(repositoryRoot(), 'test', 'upgrade', 'builds');
const ARCHIVE = /^(\d+\.\d+\.\d+)\.tgz$/;

/** The versions that are kept, the oldest first. */
export async function packedVersions(): Promise<readonly string[]> {
  const names = await readdir(BUILDS);
  return names.flatMap((name) => ARCHIVE.exec(name)?.[1] ?? []).sort(compareVersions);
}

/** SHA-256 of the histories that were frozen with a version, by file name. */
export async function frozenHistories(version: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(BUILDS, `${version}.histories.sha256`), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const [digest = '', name = ''] = line.split(/ +/);
      return [name, digest];
    }),
  );
}

/** Orders `x.y.z` by its numbers. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const differences = (left ?? []).map((part, index) => part - (right?.[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}

/**
 * Unpacks a build so that it runs: its own code, the packages of this checkout.
 *
 * @param directory - is made; the program is `dist/cli/main.js` in it
 * @throws Error when the archive is not what its checksum says, or when this checkout has moved to
 * another major version of a package than the build ran with
 */
export async function unpackBuild(version: string, directory: string): Promise<void> {
  const archive = join(BUILDS, `${version}.tgz`);
  const [expected] = (await readFile(`${archive}.sha256`, 'utf8')).split(' ');
  const actual = createHash('sha256')
    .update(await readFile(archive))
    .digest('hex');
  if (actual !== expected) {
    throw new Error(`${archive} has SHA-256 ${actual}, the file beside it says ${expected}`);
  }
  await mkdir(directory, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', archive, '-C', directory]);
  const packages = join(repositoryRoot(), 'node_modules');
  await symlink(packages, join(directory, 'node_modules'));
  const record = JSON.parse(await readFile(join(directory, 'build.json'), 'utf8')) as BuildRecord;
  const moved = movedAway(
    record.dependencies,
    await installed(packages, Object.keys(record.dependencies)),
  );
  if (moved.length > 0) {
    throw new Error(
      `build ${version} cannot run with the packages of this checkout: ${moved.join('; ')}. ` +
        'Pack a later release that has them, and remove this one (docs/upgrading.md)',
    );
  }
}

/** Packages that are gone, or of another major version than they were: what an old build may not bear. */
export function movedAway(then: PackageVersions, now: PackageVersions): readonly string[] {
  return Object.entries(then)
    .filter(([name, version]) => majorOf(now[name]) !== majorOf(version))
    .map(([name, version]) => `${name} was ${version} and is ${now[name] ?? 'not there'}`);
}

function majorOf(version: string | undefined): string | undefined {
  return version?.split('.')[0];
}

async function installed(packages: string, names: readonly string[]): Promise<PackageVersions> {
  const found: [string, string][] = [];
  for (const name of names) {
    const version = await versionOf(join(packages, name, 'package.json'));
    if (version !== undefined) found.push([name, version]);
  }
  return Object.fromEntries(found);
}

async function versionOf(manifest: string): Promise<string | undefined> {
  try {
    return (JSON.parse(await readFile(manifest, 'utf8')) as { readonly version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
