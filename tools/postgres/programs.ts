import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../binaries/lock';
import { reportOnStderr, withProgress, type Report } from '../binaries/progress';
import { run } from '../binaries/run-program';
import { isExecutable } from '../binaries/search-path';
import { readSettings, type BinarySettings } from '../binaries/settings';

/** Where Debian puts the programs of each version. */
const DEBIAN = '/usr/lib/postgresql';
const OVERRIDE = 'SLIPWAY_POSTGRESQL';
/** The oldest that is tested. */
const OLDEST = 15;
const PACKAGE = 'postgresql';
const APT = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=5'];

export interface PostgresPrograms {
  /** With `postgres`, `initdb`, `psql`, `pg_dump` and `pg_restore`. */
  readonly directory: string;
  /** PostgreSQL refuses to run as root. Undefined = this process is not root's. */
  readonly user: string | undefined;
}

/**
 * PostgreSQL from the directory in SLIPWAY_POSTGRESQL, else the newest of Debian's packages from 15
 * on, which is installed when there is none.
 *
 * @throws Error that says what to install
 */
export async function ensurePostgres(
  settings: BinarySettings = readSettings(),
  report: Report = reportOnStderr,
): Promise<PostgresPrograms> {
  const named = settings.environment[OVERRIDE];
  if (named !== undefined && named !== '') {
    if (await hasServer(named)) return { directory: named, user: unprivileged() };
    throw new Error(`${OVERRIDE} names ${named}, which has no program postgres`);
  }
  const found = await newest();
  if (found !== undefined) return { directory: found, user: unprivileged() };
  await withLock(join(settings.cacheDirectory, 'postgresql.lock'), 'installing it', async () => {
    if ((await newest()) !== undefined) return;
    const what = `the package ${PACKAGE}`;
    await withProgress(report, `installing ${what}`, `installed ${what}`, () => install(settings));
  });
  const installed = await newest();
  if (installed === undefined)
    throw new Error(`the package ${PACKAGE} left no PostgreSQL ${OLDEST} or newer in ${DEBIAN}`);
  return { directory: installed, user: unprivileged() };
}

async function newest(): Promise<string | undefined> {
  const versions = (await readdir(DEBIAN).catch(() => [])).map(Number).sort((a, b) => b - a);
  for (const version of versions) {
    const directory = join(DEBIAN, String(version), 'bin');
    if (version >= OLDEST && (await hasServer(directory))) return directory;
  }
  return undefined;
}

function hasServer(directory: string): Promise<boolean> {
  return isExecutable(join(directory, 'postgres'));
}

async function install({ environment }: BinarySettings): Promise<void> {
  const quiet = { ...environment, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await run('apt-get', [...APT, 'update', '--quiet'], quiet);
    await run('apt-get', [...APT, 'install', '--yes', '--no-install-recommends', PACKAGE], quiet);
  } catch (error) {
    throw new Error(
      `PostgreSQL ${OLDEST} or newer is needed, and apt-get did not install it; install Debian's ` +
        `package ${PACKAGE}, or name the directory of its programs with ${OVERRIDE}`,
      { cause: error },
    );
  }
}

/** Debian's package makes this user. */
function unprivileged(): string | undefined {
  return process.getuid?.() === 0 ? 'postgres' : undefined;
}
