/**
 * Several versions of the host worker may be installed beside each other (`deploy/host/install`). The config of the
 * machine names one of them, and `deploy/host/slipway-installed` starts it, or the last one that has ever started.
 */

import { fail } from '../../core/errors';
import { wantedPaths } from '../paths/wanted-paths';
import type { Files } from '../ports';
import type { HostConfig } from '../records/configs';

const WANTED_FILE = '/etc/slipway-host-version';
const VERSIONS = '/var/lib/slipway/host/versions';
/** Absent where the host worker belongs to the OS image. */
const RUNNING_FILE = '/var/lib/slipway/host/running';

/** @throws `ApplyFailed` where the config names a version that this machine lacks */
export async function refuseMissingVersion(
  files: Pick<Files, 'facts'>,
  { spec }: HostConfig,
): Promise<void> {
  const wanted = wantedPaths(spec).get(WANTED_FILE);
  if (wanted?.kind !== 'file' || wanted.content === undefined) return;
  if ((await files.facts(VERSIONS)).kind === 'absent') return;
  const version = wanted.content.toString('utf8').trim();
  if ((await files.facts(`${VERSIONS}/${version}`)).kind !== 'absent') return;
  throw fail(
    'ApplyFailed',
    `${WANTED_FILE} names version ${version} of the host worker, which is not installed on this machine: install it with deploy/installer first`,
    { path: WANTED_FILE },
  );
}

/** @throws `VerifyFailed` where another version runs than the one that is named */
export async function proveVersion(files: Pick<Files, 'look'>): Promise<void> {
  const wanted = await versionIn(files, WANTED_FILE);
  const running = await versionIn(files, RUNNING_FILE);
  if (wanted === undefined || running === undefined || wanted === running) return;
  throw fail(
    'VerifyFailed',
    `version ${wanted} of the host worker does not start, and version ${running} runs in its place`,
    { path: WANTED_FILE },
  );
}

async function versionIn(files: Pick<Files, 'look'>, path: string): Promise<string | undefined> {
  const found = await files.look(path);
  return found.kind === 'file' ? found.content.toString('utf8').trim() : undefined;
}
