import { posix } from 'node:path';
import { fail } from '../../core/errors';
import { isPasswordHash } from '../../core/machine-config';
import type { HostFiles } from './files';
import type { FileState } from './path-state';

/** Image-based systems keep the image's accounts in `/usr/lib` (nss-altfiles). */
const DIRECTORIES = ['/etc', '/usr/lib'] as const;

interface HostUser {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

export interface HostUsers {
  /** @throws `ApplyFailed` when the host has no such user */
  user(name: string): Promise<HostUser>;
  /** @throws `ApplyFailed` when the host has no such group */
  groupId(name: string): Promise<number>;
  /**
   * `/etc/shadow` with this password hash for the user; an empty hash locks the password.
   *
   * Without the lock of the shadow tools, which Node cannot take: a password that is changed in the
   * same moment is lost.
   *
   * @param now - the day for the age of the password: with an old one, a login may be refused
   * @throws `ApplyFailed` when the user has no entry, or the hash is invalid
   */
  shadowWith(user: string, hash: string, now: Date): Promise<FileState>;
  hasPassword(user: string, hash: string): Promise<boolean>;
}

export const SHADOW_PATH = '/etc/shadow';

const MS_PER_DAY = 24 * 60 * 60 * 1000;

/** As Ignition and MCO write it. For an sshd without PAM, `!` locks the keys, too. */
const LOCKED = '*';

export function createHostUsers(files: Pick<HostFiles, 'look'>): HostUsers {
  async function find(file: string, name: string): Promise<readonly string[] | undefined> {
    for (const directory of DIRECTORIES) {
      const state = await files.look(posix.join(directory, file));
      if (state.kind !== 'file') continue;
      const entry = entries(state.content).find(([first]) => first === name);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  async function shadow(): Promise<FileState> {
    const state = await files.look(SHADOW_PATH);
    if (state.kind === 'file') return state;
    throw fail('ApplyFailed', `set password: ${SHADOW_PATH} is not a file`, { path: SHADOW_PATH });
  }

  return {
    async user(name) {
      const entry = await find('passwd', name);
      const [, , uid, gid, , home] = entry ?? [];
      if (uid === undefined || gid === undefined) {
        throw fail('ApplyFailed', `find user ${name}: the host has no such user`, { user: name });
      }
      return { uid: Number(uid), gid: Number(gid), home: home ?? '/' };
    },
    async groupId(name) {
      const id = (await find('group', name))?.[2];
      if (id !== undefined) return Number(id);
      throw fail('ApplyFailed', `find group ${name}: the host has no such group`, { group: name });
    },
    async shadowWith(user, hash, now) {
      refuseHash(user, hash);
      const state = await shadow();
      const lines = state.content.toString('utf8').split('\n');
      const at = lines.findIndex((line) => line.startsWith(`${user}:`));
      const fields = lines[at]?.split(':');
      if (fields === undefined) {
        throw fail('ApplyFailed', `set password of ${user}: no entry in ${SHADOW_PATH}`, { user });
      }
      fields[1] = hash === '' ? LOCKED : hash;
      fields[2] = String(Math.floor(now.getTime() / MS_PER_DAY));
      lines[at] = fields.join(':');
      return { ...state, content: Buffer.from(lines.join('\n'), 'utf8') };
    },
    async hasPassword(user, hash) {
      const state = await files.look(SHADOW_PATH);
      if (state.kind !== 'file') return false;
      const entry = entries(state.content).find(([first]) => first === user);
      return entry?.[1] === (hash === '' ? LOCKED : hash);
    },
  };
}

/** With the earlier entry of one user. */
export function withEntryOf(user: string, before: Buffer, now: Buffer): Buffer {
  const isIts = (line: string): boolean => line.startsWith(`${user}:`);
  // Every byte of other entries stays.
  const entry = before.toString('latin1').split('\n').find(isIts);
  if (entry === undefined) return before;
  const lines = now.toString('latin1').split('\n');
  const at = lines.findIndex(isIts);
  if (at !== -1) lines[at] = entry;
  // Before the newline at the end.
  else lines.splice(lines.at(-1) === '' ? -1 : lines.length, 0, entry);
  return Buffer.from(lines.join('\n'), 'latin1');
}

function refuseHash(user: string, hash: string): void {
  if (isPasswordHash(hash)) return;
  throw fail(
    'ApplyFailed',
    `set password of ${user}: passwordHash has a colon or a control character, which no hash has; make it with mkpasswd`,
    { user },
  );
}

function entries(content: Buffer): readonly (readonly string[])[] {
  return content
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'));
}
