/** Makes changes and their parent directories, with attributes from the config or MCO's. */

import type { ChangeStep } from '../../adapters/host';
import { ORIGINAL_PLACES } from '../../core/machine-config';
import type { IgnitionDirectory, RenderedSpec } from '../../core/machine-config/types';
import { closeOriginals, ORIGINALS_MODE } from './originals';
import { ownerOf } from './path-changes';
import type { HostPorts, PathChange } from '../ports';
import { ancestors } from '../records/configs';
import { SSH_KEYS_FILE } from './ssh-keys';
import { CORE_USER, hasSshKeys } from './wanted-paths';

/** With keys in the config, these belong to their user alone. */
const OF_CORE: readonly string[] = ancestors(SSH_KEYS_FILE).filter((path) => path !== '/home');

const DEFAULT_MODE = 0o755;

const OF_ORIGINALS = ORIGINAL_PLACES.map((path) => ({ path, mode: ORIGINALS_MODE }));

type Ports = Pick<HostPorts, 'files' | 'users'>;

/**
 * The directories of originals are closed before a copy is written there.
 *
 * @param spec - the config that may list the directories
 * @throws `ApplyFailed` when the host lacks their user or group
 */
export async function changeWithDirectories(
  ports: Ports,
  changes: readonly PathChange[],
  { spec, step }: { readonly spec?: Pick<RenderedSpec, 'config'>; readonly step?: ChangeStep } = {},
): Promise<void> {
  const written = changes.filter(({ state }) => state.kind !== 'absent');
  const paths = written.map(({ path }) => path);
  const directories = await missingDirectories(ports, paths, spec);
  await closeOriginals(ports.files);
  await ports.files.change([...directories, ...changes], step);
}

async function missingDirectories(
  ports: Ports,
  paths: readonly string[],
  spec: Pick<RenderedSpec, 'config'> | undefined,
): Promise<readonly PathChange[]> {
  const entries = [...(spec?.config.storage?.directories ?? []), ...OF_ORIGINALS];
  const listed = new Map<string, Partial<IgnitionDirectory>>(
    entries.map((entry) => [entry.path, entry]),
  );
  const ofCore = spec !== undefined && hasSshKeys(spec) ? OF_CORE : [];
  const seen = new Set<string>();
  const changes: PathChange[] = [];
  for (const path of paths) {
    for (const directory of ancestors(path)) {
      if (seen.has(directory)) continue;
      seen.add(directory);
      // A link to a directory will do.
      if ((await ports.files.facts(directory)).kind !== 'absent') continue;
      const isOfCore = !listed.has(directory) && ofCore.includes(directory);
      const state = isOfCore
        ? await attributesOfCore(ports)
        : await attributesOf(ports, listed.get(directory));
      changes.push({ path: directory, state: { kind: 'directory', ...state } });
    }
  }
  return changes;
}

async function attributesOfCore({ users }: Pick<HostPorts, 'users'>) {
  const { uid, gid } = await users.user(CORE_USER);
  return { mode: 0o700, owner: { uid, gid } };
}

async function attributesOf(
  ports: Pick<HostPorts, 'users'>,
  { mode = DEFAULT_MODE, user, group }: Partial<IgnitionDirectory> = {},
) {
  return { mode, owner: await ownerOf(ports, { user, group }) };
}
