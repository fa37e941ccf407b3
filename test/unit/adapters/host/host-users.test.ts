import { createHostUsers } from '../../../../adapters/host/host-users';
import type { FileState } from '../../../../adapters/host/path-state';

const SHADOW = 'root:*:19000:0:99999:7:::\ncore:!!:19000:0:99999:7:::\n';
const NOW = new Date('2030-01-01T00:00:00Z');

const users = createHostUsers({
  look: (path) =>
    Promise.resolve(
      (path === '/etc/shadow'
        ? { kind: 'file', content: Buffer.from(SHADOW), mode: 0, owner: { uid: 0, gid: 0 } }
        : { kind: 'none' }) as FileState,
    ),
});

it('sets the hash of one user and leaves the others alone', async () => {
  const state = await users.shadowWith('core', '$6$salt$hash', NOW);

  expect(state.kind === 'file' && state.content.toString()).toBe(
    'root:*:19000:0:99999:7:::\ncore:$6$salt$hash:21915:0:99999:7:::\n',
  );
});

it('locks the password alone, not the account, which an exclamation mark does', async () => {
  expect(await users.hasPassword('core', '')).toBe(false);

  const state = await users.shadowWith('core', '', NOW);

  expect(state.kind === 'file' && state.content.toString()).toContain('\ncore:*:21915:');
  expect(await users.hasPassword('root', '')).toBe(true);
});

it.each(['a:b', 'a\nroot2::0:0', 'a\rb', 'a\u0000b'])(
  'refuses what is no hash: %j',
  async (hash) => {
    await expect(users.shadowWith('core', hash, NOW)).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.not.stringContaining(hash) as string,
    });
  },
);
