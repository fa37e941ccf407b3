import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { withLock } from '../binaries/lock';
import { reportOnStderr, withProgress, type Report } from '../binaries/progress';
import { run } from '../binaries/run-program';
import { findOnPath, isExecutable } from '../binaries/search-path';
import { readSettings, type BinarySettings } from '../binaries/settings';

const PROGRAM = 'docker-registry';
/** The mirror may be unreachable for a moment. */
const RETRIES = ['-o', 'Acquire::Retries=5'];
const OVERRIDE = 'SLIPWAY_DOCKER_REGISTRY';

/**
 * The path of docker-registry, from the first of: the environment variable SLIPWAY_DOCKER_REGISTRY,
 * PATH, the cache, the distribution's package, which is unpacked into the cache and not installed.
 *
 * @throws Error that names what each step lacked
 */
export async function ensureRegistry(
  settings: BinarySettings = readSettings(),
  report: Report = reportOnStderr,
): Promise<string> {
  const named = settings.environment[OVERRIDE];
  if (named !== undefined && named !== '') {
    if (await isExecutable(named)) return resolve(named);
    throw new Error(`${OVERRIDE} names ${named}, which is not an executable file`);
  }
  const onPath = await findOnPath(PROGRAM, settings.searchPath);
  if (onPath !== undefined) return onPath;
  const directory = join(settings.cacheDirectory, PROGRAM);
  const cached = join(directory, 'package', 'usr', 'bin', PROGRAM);
  if (await isExecutable(cached)) return cached;
  await withLock(`${directory}.lock`, `fetching ${PROGRAM}`, async () => {
    if (await isExecutable(cached)) return;
    await withProgress(report, `fetching ${PROGRAM}`, `unpacked ${PROGRAM}`, () =>
      unpack(directory, settings),
    );
  });
  return cached;
}

async function unpack(directory: string, { environment }: BinarySettings): Promise<void> {
  await mkdir(directory, { recursive: true });
  const partial = await mkdtemp(join(directory, '.partial-'));
  try {
    await runTool('apt-get', [...RETRIES, 'download', PROGRAM], environment, partial);
    const [file] = (await readdir(partial)).filter((name) => name.endsWith('.deb'));
    if (file === undefined) throw new Error(`apt-get download ${PROGRAM} left no package`);
    await runTool('dpkg', ['-x', file, 'package'], environment, partial);
    await rename(join(partial, 'package'), join(directory, 'package'));
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function runTool(
  tool: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  directory: string,
): Promise<void> {
  try {
    await run(tool, args, environment, directory);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${PROGRAM} is not on PATH and its package could not be unpacked (${message}); ` +
        `install the package, or name the program with ${OVERRIDE}`,
      { cause: error },
    );
  }
}
