/** Directories on the way to what is written: as the config lists them, else with MCO's attributes. */

import type { IgnitionDirectory, RenderedSpec } from '../../core/machine-config/types';
import { ownerOf } from './path-changes';
import type { HostPorts, PathChange } from './ports';
import { ancestors } from './records';
import { SSH_KEYS_FILE } from './ssh-keys';
import { CORE_USER, hasSshKeys } from './wanted-paths';

/** With keys in the config they belong to their user alone; a file of a config gets them like any others. */
const OF_CORE: readonly string[] = ancestors(SSH_KEYS_FILE).filter((path) => path !== '/home');

const DEFAULT_MODE = 0o755;

/**
 * The directories that are missing for these paths, outermost first.
 *
 * @param spec - the config that may list them; absent = the paths are of none
 * @throws `ApplyFailed` when the host has no user or group to own them
 */
export async function missingDirectories(
  ports: Pick<HostPorts, 'files' | 'users'>,
  paths: Iterable<string>,
  spec?: Pick<RenderedSpec, 'config'>,
): Promise<readonly PathChange[]> {
  const listed = new Map(spec?.config.storage?.directories?.map((entry) => [entry.path, entry]));
  const ofCore = spec !== undefined && hasSshKeys(spec) ? OF_CORE : [];
  const seen = new Set<string>();
  const changes: PathChange[] = [];
  for (const path of paths) {
    for (const directory of ancestors(path)) {
      if (seen.has(directory)) continue;
      seen.add(directory);
      // A link to a directory is as good as one; a dangling one is found out when it is written to.
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
