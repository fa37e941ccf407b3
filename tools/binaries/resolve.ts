import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root';
import { adoptDirectory } from '../processes/watchdog';
import { buildFromSource, requireGo } from './build';
import { sourceOf, type BinaryName, type BinarySource } from './catalogue';
import { downloadRelease } from './download';
import { withLock } from './lock';
import { reportOnStderr, withProgress, type Report } from './progress';
import { releaseFor } from './releases';
import { run } from './run-program';
import { findOnPath, isExecutable } from './search-path';
import { overrideVariable, type BinarySettings } from './settings';
import { isCompatible, parseVersion } from './versions';

export interface ResolveContext {
  readonly settings: BinarySettings;
  readonly report?: Report;
  /** One folder with a go.mod per tool. */
  readonly toolsDirectory?: string;
}

/**
 * From the first of: the environment variable, PATH (when the version fits), the cache, the
 * official release, a build with Go.
 *
 * @throws Error when the environment names a file that is not executable, or when every step
 *   failed; the message names the reason of each
 */
export async function resolveBinary(name: BinaryName, context: ResolveContext): Promise<string> {
  const { settings, report = reportOnStderr } = context;
  return (
    (await fromEnvironment(name, settings)) ??
    (await fromPath(name, settings, report)) ??
    (await fromCache(name, settings)) ??
    (await obtain(name, context, report))
  );
}

async function fromEnvironment(
  name: BinaryName,
  settings: BinarySettings,
): Promise<string | undefined> {
  const path = settings.overrides[name];
  if (path === undefined || (await isExecutable(path))) return path;
  throw new Error(`${overrideVariable(name)} names ${path}, which is not an executable file`);
}

async function fromPath(
  name: BinaryName,
  settings: BinarySettings,
  report: Report,
): Promise<string | undefined> {
  const path = await findOnPath(name, settings.searchPath);
  if (path === undefined) return undefined;
  const { version: pinned, versionArguments = ['--version'] } = sourceOf(name);
  const answer = await run(path, versionArguments, settings.environment).catch(() => '');
  const found = parseVersion(answer);
  if (isCompatible(found, parseVersion(pinned))) return path;
  report(`${path} is ${found?.join('.') ?? 'of an unknown version'}, not ${pinned}; ignored`);
  return undefined;
}

/** An unfinished program never has this name. */
export function cachePath(name: BinaryName, settings: BinarySettings): string {
  return join(cacheDirectoryOf(sourceOf(name), settings), name);
}

function cacheDirectoryOf(source: BinarySource, settings: BinarySettings): string {
  const { os, arch } = settings.platform;
  return join(settings.cacheDirectory, source.folder, `${source.version}-${os}-${arch}`);
}

async function fromCache(name: BinaryName, settings: BinarySettings): Promise<string | undefined> {
  const path = cachePath(name, settings);
  return (await isExecutable(path)) ? path : undefined;
}

/** Under the program's lock; a second process then finds the result. */
async function obtain(name: BinaryName, context: ResolveContext, report: Report): Promise<string> {
  const { settings } = context;
  const directory = cacheDirectoryOf(sourceOf(name), settings);
  const work = async (): Promise<string> =>
    (await fromCache(name, settings)) ?? (await makeInto(directory, name, context, report));
  return withLock(`${directory}.lock`, `fetching ${name}`, work, (holder) => {
    report(`waiting for process ${holder.pid} on ${holder.host}, which is ${holder.doing}`);
  });
}

const PARTIAL = '.partial-';

async function makeInto(
  directory: string,
  name: BinaryName,
  context: ResolveContext,
  report: Report,
): Promise<string> {
  await mkdir(directory, { recursive: true });
  await removeLeftovers(directory);
  const partial = await mkdtemp(join(directory, PARTIAL));
  const disown = adoptDirectory(partial);
  try {
    const made =
      (await download(name, partial, context.settings, report)) ??
      (await build(name, partial, context, report));
    await chmod(made, 0o755);
    const finished = cachePath(name, context.settings);
    await rename(made, finished);
    return finished;
  } finally {
    await rm(partial, { recursive: true, force: true });
    disown();
  }
}

/** The caller holds the lock, so no run needs these files. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const entry of await readdir(directory)) {
    if (entry.startsWith(PARTIAL)) await rm(join(directory, entry), { recursive: true });
  }
}

async function download(
  name: BinaryName,
  directory: string,
  settings: BinarySettings,
  report: Report,
): Promise<string | undefined> {
  const source = sourceOf(name);
  const release = settings.download ? releaseFor(source, settings) : undefined;
  if (release === undefined) return undefined;
  try {
    return await withProgress(
      report,
      `downloading ${name} ${source.version}`,
      `downloaded and verified ${name}`,
      () => downloadRelease(release, directory, settings),
    );
  } catch (error) {
    report(`no download of ${name}: ${describe(error)}; building it instead`);
    return undefined;
  }
}

async function build(
  name: BinaryName,
  directory: string,
  context: ResolveContext,
  report: Report,
): Promise<string> {
  const { settings, toolsDirectory = join(repositoryRoot(), 'tools') } = context;
  const source = sourceOf(name);
  const moduleDirectory = join(toolsDirectory, source.folder);
  try {
    const go = await requireGo(source, moduleDirectory, settings);
    return await withProgress(
      report,
      `building ${name} ${source.version} (about ${source.buildMinutes} min on two idle cores)`,
      `built ${name}`,
      () => buildFromSource(go, source, moduleDirectory, join(directory, name), settings),
    );
  } catch (error) {
    const compiler = source.needsC === undefined ? '' : ` (it needs ${source.needsC})`;
    throw new Error(
      `${name} ${source.version} is neither on PATH nor in ${settings.cacheDirectory}, has no ` +
        `release that could be downloaded, and was not built${compiler}: ${describe(error)}; ` +
        `or name one with ${overrideVariable(name)}`,
      { cause: error },
    );
  }
}

/** `fetch` hides the reason (no route, no name, refused) in the cause. */
function describe(error: unknown): string {
  const { message = String(error), cause } = error as { message?: string; cause?: unknown };
  return cause === undefined ? message : `${message} (${describe(cause)})`;
}
