import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { repositoryRoot } from '../repository-root';
import { requireCargo, requireLibraries } from './cargo';
import { withLock } from './lock';
import { reportOnStderr, withProgress, type Report } from './progress';
import { run } from './run-program';
import { findOnPath, isExecutable } from './search-path';
import { readSettings, type BinarySettings } from './settings';

/** The program for hosts, and the one that makes images for tests. */
const RUST_PROGRAMS = ['slipway-ostree', 'ostree-ext-cli'] as const;
type RustProgram = (typeof RUST_PROGRAMS)[number];

const FOLDER = 'slipway-ostree';
/** Of a cold build on two idle cores. */
const BUILD_MINUTES = 3;
const OVERRIDES: Readonly<Record<RustProgram, string>> = {
  'slipway-ostree': 'SLIPWAY_OSTREE',
  'ostree-ext-cli': 'SLIPWAY_OSTREE_EXT_CLI',
};

interface RustContext {
  readonly settings: BinarySettings;
  readonly report?: Report;
  /** With Cargo.toml, Cargo.lock and src. */
  readonly crateDirectory?: string;
}

/**
 * From the first of: its environment variable (SLIPWAY_OSTREE, SLIPWAY_OSTREE_EXT_CLI), PATH, the
 * cache for these sources, a build with the lock file.
 *
 * @throws Error that names the missing system packages or the cargo that is needed
 */
export function ensureRustProgram(name: RustProgram): Promise<string> {
  return resolveRustProgram(name, { settings: readSettings() });
}

export async function resolveRustProgram(name: RustProgram, context: RustContext): Promise<string> {
  const { settings } = context;
  const crate = context.crateDirectory ?? join(repositoryRoot(), 'programs', FOLDER);
  const named = settings.environment[OVERRIDES[name]];
  if (named !== undefined && named !== '') {
    if (await isExecutable(named)) return resolve(named);
    throw new Error(`${OVERRIDES[name]} names ${named}, which is not an executable file`);
  }
  const onPath = await findOnPath(name, settings.searchPath);
  if (onPath !== undefined) return onPath;
  const directory = await cacheDirectory(crate, settings);
  const program = join(directory, name);
  if (await isExecutable(program)) return program;
  await obtain(name, { ...context, crate, directory });
  return program;
}

/** Named by the digest of the sources. */
async function cacheDirectory(
  crate: string,
  { cacheDirectory: cache, platform }: BinarySettings,
): Promise<string> {
  const digest = await sourceDigest(crate);
  return join(cache, FOLDER, `${digest}-${platform.os}-${platform.arch}`);
}

/** 16 hexadecimal digits over the manifest, the lock file and the sources. */
export async function sourceDigest(crate: string): Promise<string> {
  const entries = await readdir(join(crate, 'src'), { recursive: true, withFileTypes: true });
  const sources = entries.filter((entry) => entry.isFile());
  const paths = [
    join(crate, 'Cargo.toml'),
    join(crate, 'Cargo.lock'),
    ...sources.map((entry) => join(entry.parentPath, entry.name)).sort(),
  ];
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = await readFile(path);
    hash.update(`${path.slice(crate.length)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

interface BuildContext extends RustContext {
  readonly crate: string;
  readonly directory: string;
}

/** Under a lock; a second process then finds the result. */
async function obtain(name: RustProgram, context: BuildContext): Promise<void> {
  const { settings, report = reportOnStderr, directory } = context;
  const lock = join(settings.cacheDirectory, `${FOLDER}.lock`);
  const work = async (): Promise<void> => {
    if (await isExecutable(join(directory, name))) return;
    await build(name, context, report);
  };
  await withLock(lock, `building ${name}`, work, (holder) => {
    report(`waiting for process ${holder.pid} on ${holder.host}, which is ${holder.doing}`);
  });
}

async function build(name: RustProgram, context: BuildContext, report: Report): Promise<void> {
  const { settings, crate, directory } = context;
  // Outside the repository: a rebuild after an edit takes seconds.
  const target = join(settings.cacheDirectory, FOLDER, 'target');
  const environment = { ...settings.environment, CARGO_TARGET_DIR: target };
  try {
    const cargo = await requireCargo(crate, settings);
    await requireLibraries(settings);
    await withProgress(
      report,
      `building ${name} (about ${BUILD_MINUTES} min on two idle cores)`,
      `built ${name}`,
      () => run(cargo, ['build', '--release', '--locked', '--bins'], environment, crate),
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${name} is neither on PATH nor in ${settings.cacheDirectory}, and was not built: ${message}; ` +
        `or name one with ${OVERRIDES[name]}`,
      { cause: error },
    );
  }
  await mkdir(directory, { recursive: true });
  for (const built of RUST_PROGRAMS) {
    await install(join(target, 'release', built), join(directory, built));
  }
}

/** An unfinished program never has the final name. */
async function install(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  await rm(partial, { force: true });
  await copyFile(from, partial);
  await chmod(partial, 0o755);
  await rename(partial, to);
}
