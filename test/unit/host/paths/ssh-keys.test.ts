import {
  PLAIN_SSH_KEYS_FILE,
  replacedKeys,
  SSH_KEYS_FILE,
  sshKeysFileOf,
} from '../../../../host/paths/ssh-keys';
import type { PathState } from '../../../../host/ports';

const release = (path: string, text: string | undefined) => ({
  look: async (asked: string): Promise<PathState> =>
    asked !== path || text === undefined
      ? { kind: 'absent' }
      : {
          kind: 'file',
          content: Buffer.from(text),
          mode: 0o644,
          owner: { uid: 0, gid: 0 },
        },
});

describe('the file for SSH keys', () => {
  it.each([
    ['Enterprise Linux 9', 'ID="rhel"\nPLATFORM_ID="platform:el9"\n', SSH_KEYS_FILE],
    ['Enterprise Linux 10', 'ID=centos\nPLATFORM_ID=platform:el10\n', SSH_KEYS_FILE],
    ['Fedora CoreOS', 'ID=fedora\nVARIANT_ID=coreos\n', SSH_KEYS_FILE],
    ['CentOS Stream CoreOS', 'ID=scos\n', SSH_KEYS_FILE],
    ['Enterprise Linux 8', 'ID="rhcos"\nPLATFORM_ID="platform:el8"\n', PLAIN_SSH_KEYS_FILE],
    ['Fedora Server', 'ID=fedora\nVARIANT_ID=server\n', PLAIN_SSH_KEYS_FILE],
    ['Debian', 'ID=debian\n', PLAIN_SSH_KEYS_FILE],
    ['a system that says nothing', undefined, PLAIN_SSH_KEYS_FILE],
  ])('is as the sshd of %s reads it', async (_system, text, expected) => {
    expect(await sshKeysFileOf(release('/usr/lib/os-release', text))).toBe(expected);
  });

  it('follows the image before a file that a config may have written', async () => {
    const files = {
      look: async (path: string) =>
        release(path, path.startsWith('/usr') ? 'ID=scos\n' : 'ID=mine\n').look(path),
    };
    expect(await sshKeysFileOf(files)).toBe(SSH_KEYS_FILE);
  });

  it('replaces the keys of the other place, and whatever stands beside it', async () => {
    const files = {
      list: async () => ['afterburn', 'ignition'],
      facts: async () => ({ kind: 'symlink' as const, target: 'x' }),
    };
    const absent = { kind: 'absent' };

    expect(await replacedKeys(files, SSH_KEYS_FILE)).toEqual([
      { path: PLAIN_SSH_KEYS_FILE, state: absent },
      { path: '/home/core/.ssh/authorized_keys.d/afterburn', state: absent },
    ]);
    expect(await replacedKeys(files, PLAIN_SSH_KEYS_FILE)).toEqual([]);
  });
});
