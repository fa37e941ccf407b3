/**
 * A skopeo that checks the signature policy for programs that pull through it, from a newer release
 * of Debian with its libraries, in one folder that can be copied to any machine. Nothing is
 * installed.
 */

import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../binaries/lock';
import { reportOnStderr, withProgress, type Report } from '../binaries/progress';
import { run } from '../binaries/run-program';
import { isExecutable } from '../binaries/search-path';
import { readSettings, type BinarySettings } from '../binaries/settings';

/** Its skopeo is 1.18. */
const SUITE = 'trixie';
const SOURCE = `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian ${SUITE} main`;
/** And the packages it is linked with. */
const PACKAGES = [
  ...['skopeo', 'libc6', 'libgpgme11t64', 'libassuan9', 'libgpg-error0', 'libsqlite3-0'],
];
/** With its own loader, the libraries of the machine are not used. */
const START = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here"/usr/lib/*/ld-linux-*.so.* --library-path "$(echo "$here"/usr/lib/*-linux-gnu)" "$here/usr/bin/skopeo" "$@"
`;

/**
 * It is started through the script `skopeo`. Fetched once: about 15 MB and the list of packages.
 *
 * @throws Error with the message of apt-get
 */
export async function ensureVerifyingSkopeo(
  settings: BinarySettings = readSettings(),
  report: Report = reportOnStderr,
): Promise<string> {
  const directory = join(settings.cacheDirectory, 'skopeo', SUITE);
  const program = join(directory, 'skopeo');
  if (await isExecutable(program)) return directory;
  await withLock(`${directory}.lock`, 'fetching skopeo', async () => {
    if (await isExecutable(program)) return;
    await withProgress(report, `fetching skopeo of ${SUITE}`, 'unpacked skopeo', () =>
      fetchInto(directory, settings),
    );
  });
  return directory;
}

async function fetchInto(directory: string, { environment }: BinarySettings): Promise<void> {
  await mkdir(directory, { recursive: true });
  const work = await mkdtemp(join(directory, '..', '.partial-'));
  try {
    const options = await aptOf(work);
    await run('apt-get', [...options, 'update'], environment, work);
    await run('apt-get', [...options, 'download', ...PACKAGES], environment, work);
    const made = join(work, 'made');
    await mkdir(made, { mode: 0o755 });
    for (const file of await readdir(work)) {
      if (file.endsWith('.deb')) await run('dpkg', ['-x', file, made], environment, work);
    }
    await writeFile(join(made, 'skopeo'), START, { mode: 0o755 });
    await rm(directory, { recursive: true });
    await rename(made, directory);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Only this source; the machine's own lists stay. */
async function aptOf(work: string): Promise<readonly string[]> {
  await writeFile(join(work, 'sources.list'), `${SOURCE}\n`);
  await writeFile(join(work, 'status'), '');
  await mkdir(join(work, 'lists/partial'), { recursive: true });
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  const settings = {
    'Dir::State': work,
    'Dir::State::lists': join(work, 'lists'),
    'Dir::State::status': join(work, 'status'),
    'Dir::Cache': join(work, 'cache'),
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'APT::Sandbox::User': 'root',
    // Otherwise an update without the list of packages counts as successful.
    'APT::Update::Error-Mode': 'any',
    'Acquire::Retries': '5',
  };
  return [
    '-qq',
    ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
}
