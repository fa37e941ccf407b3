/** Directories on the way to what is written: MCO's attributes, and those of the `core` user's keys. */

import type { HostPorts, PathChange } from './ports';
import { ancestors } from './records';
import { SSH_KEYS_FILE } from './ssh-keys';
import { CORE_USER } from './wanted-paths';

/** sshd wants these to belong to their user alone. */
const OF_CORE: readonly string[] = ancestors(SSH_KEYS_FILE).filter((path) => path !== '/home');

const BY_DEFAULT = { kind: 'directory', mode: 0o755, owner: { uid: 0, gid: 0 } } as const;

/**
 * The directories that are missing for these paths, outermost first.
 *
 * @throws `ApplyFailed` when the host has no user to own them
 */
export async function missingDirectories(
  { files, users }: Pick<HostPorts, 'files' | 'users'>,
  paths: Iterable<string>,
): Promise<readonly PathChange[]> {
  const seen = new Set<string>();
  const changes: PathChange[] = [];
  for (const path of paths) {
    for (const directory of ancestors(path)) {
      if (seen.has(directory)) continue;
      seen.add(directory);
      // A link to a directory is as good as one; a dangling one is found out when it is written to.
      if ((await files.facts(directory)).kind !== 'absent') continue;
      if (!OF_CORE.includes(directory)) {
        changes.push({ path: directory, state: BY_DEFAULT });
        continue;
      }
      const { uid, gid } = await users.user(CORE_USER);
      changes.push({
        path: directory,
        state: { kind: 'directory', mode: 0o700, owner: { uid, gid } },
      });
    }
  }
  return changes;
}
