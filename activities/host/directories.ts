/** Directories on the way to a file: MCO's attributes, and those of the `core` user's keys. */

import type { HostPorts } from './ports';
import { CORE_USER, SSH_KEYS_FILE } from './wanted-paths';
import { posix } from 'node:path';

const KEY_DIRECTORIES: readonly string[] = [
  posix.dirname(SSH_KEYS_FILE),
  posix.dirname(posix.dirname(SSH_KEYS_FILE)),
];

/** Makes one directory unless it is there; sshd wants those of keys to belong to their user alone. */
export async function prepareDirectory(
  { files, users }: Pick<HostPorts, 'files' | 'users'>,
  path: string,
): Promise<void> {
  if (!KEY_DIRECTORIES.includes(path)) {
    await files.makeDirectory(path, { mode: 0o755, owner: { uid: 0, gid: 0 } });
    return;
  }
  const { uid, gid } = await users.user(CORE_USER);
  await files.makeDirectory(path, { mode: 0o700, owner: { uid, gid } });
}
