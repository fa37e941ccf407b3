/**
 * The place of a config's SSH keys: `authorized_keys.d/ignition` where sshd reads that directory,
 * else `authorized_keys`.
 *
 * @see MCO pkg/daemon/update.go, useNewSSHKeyPath, cleanSSHKeyPaths (7ff337a4)
 */

import { posix } from 'node:path';
import type { Files, PathChange } from '../ports';

const SSH_DIRECTORY = '/home/core/.ssh';
/** Enterprise Linux 9 and later, Fedora CoreOS, CentOS Stream CoreOS. */
export const SSH_KEYS_FILE = `${SSH_DIRECTORY}/authorized_keys.d/ignition`;
export const PLAIN_SSH_KEYS_FILE = `${SSH_DIRECTORY}/authorized_keys`;

/** The second may be a link to the first, or a config's own. */
const OS_RELEASE_FILES = ['/usr/lib/os-release', '/etc/os-release'];

export async function sshKeysFileOf(files: Pick<Files, 'look'>): Promise<string> {
  for (const path of OS_RELEASE_FILES) {
    const state = await files.look(path);
    if (state.kind !== 'file') continue;
    return readsDirectory(state.content.toString('utf8')) ? SSH_KEYS_FILE : PLAIN_SSH_KEYS_FILE;
  }
  return PLAIN_SSH_KEYS_FILE;
}

/**
 * The update to the first system that reads the directory wrote the file for the previous system;
 * sshd reads both.
 */
export async function presentKeysFileOf(files: Pick<Files, 'look'>): Promise<string> {
  const own = await sshKeysFileOf(files);
  if (own === PLAIN_SSH_KEYS_FILE || (await files.look(own)).kind !== 'absent') return own;
  return (await files.look(PLAIN_SSH_KEYS_FILE)).kind === 'file' ? PLAIN_SSH_KEYS_FILE : own;
}

function readsDirectory(osRelease: string): boolean {
  const fields = new Map(
    osRelease.split('\n').flatMap((line) => {
      const equals = line.indexOf('=');
      if (equals === -1) return [];
      return [[line.slice(0, equals), line.slice(equals + 1).replace(/^(["'])(.*)\1$/, '$2')]];
    }),
  );
  const [id, variant] = [fields.get('ID'), fields.get('VARIANT_ID')];
  if (id === 'scos' || (id === 'fedora' && variant === 'coreos')) return true;
  const enterprise = /^platform:el(\d+)/.exec(fields.get('PLATFORM_ID') ?? '');
  return enterprise !== null && Number(enterprise[1]) >= 9;
}

/**
 * Removed when a config's keys are written: the plain file, and all beside `ignition`. None on a
 * host with only the plain file.
 */
export async function replacedKeys(
  files: Pick<Files, 'facts' | 'list'>,
  keysFile: string,
): Promise<readonly PathChange[]> {
  if (keysFile !== SSH_KEYS_FILE) return [];
  const directory = posix.dirname(keysFile);
  const beside = (await files.list(directory)).map((name) => posix.join(directory, name));
  const changes: PathChange[] = [];
  for (const path of [PLAIN_SSH_KEYS_FILE, ...beside]) {
    const { kind } = await files.facts(path);
    if (path === keysFile || (kind !== 'file' && kind !== 'symlink')) continue;
    changes.push({ path, state: { kind: 'absent' } });
  }
  return changes;
}
