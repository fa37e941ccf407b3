/** An image of the next major release on a machine with SSH keys: its sshd reads them from another place. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findDrift } from '../../../../host/drift/compare';
import { PLAIN_SSH_KEYS_FILE, SSH_KEYS_FILE } from '../../../../host/paths/ssh-keys';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

const image = (digit: string) => `os@sha256:${digit.repeat(64)}`;
const config = (name: string, osImageURL: string, key: string): TestConfig =>
  aConfig(`rendered-worker-${name}`, {
    osImageURL,
    config: {
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: [key] }] },
      storage: { files: [aFile('/etc/motd', name)] },
    },
  });

const OLD = config('old', image('1'), 'key');
const NEXT = config('next', image('2'), 'key');
const OTHER_KEY = config('other-key', image('2'), 'another key');

let host: TestHost;
beforeEach(async () => {
  host = await aHost([OLD, NEXT, OTHER_KEY]);
  release('el8');
  await bootInto(host, OLD);
});
afterEach(() => host.remove());

const at = (path: string) => join(host.root, path);

function release(platform: string): void {
  mkdirSync(at('/usr/lib'), { recursive: true });
  writeFileSync(at('/usr/lib/os-release'), `ID="rhel"\nPLATFORM_ID="platform:${platform}"\n`);
}

async function updateInto(to: TestConfig, platform: string): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(to, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(to, 'applyUpdate'));
  const { bootId: rebootedFrom } = await activities.armReboot(orderFor(to, 'armReboot'));
  await host.boot();
  release(platform);
  const after = await host.activities();
  await after.verifyUpdate({ ...orderFor(to, 'verifyUpdate'), rebootedFrom });
  await after.commitUpdate(orderFor(to, 'commitUpdate'));
}

it('is verified with the keys where the system before had them', async () => {
  expect(existsSync(at(PLAIN_SSH_KEYS_FILE))).toBe(true);

  await updateInto(NEXT, 'el9');

  expect(readFileSync(at(PLAIN_SSH_KEYS_FILE), 'utf8')).toBe('key\n');
  expect(await findDrift(await host.ports(), NEXT.spec)).toBeUndefined();
});

it('has its next keys where its own sshd looks first, and none in the old place', async () => {
  await updateInto(NEXT, 'el9');
  const activities = await host.activities();
  const order = (step: string) => ({ ...orderFor(OTHER_KEY, step), orderId: `later/${step}` });
  await activities.prepareUpdate(order('prepareUpdate'));
  await activities.applyUpdate(order('applyUpdate'));
  await activities.verifyUpdate(order('verifyUpdate'));
  await activities.commitUpdate(order('commitUpdate'));

  expect(readFileSync(at(SSH_KEYS_FILE), 'utf8')).toBe('another key\n');
  expect(existsSync(at(PLAIN_SSH_KEYS_FILE))).toBe(false);
});

it('notices keys that somebody changes there', async () => {
  await updateInto(NEXT, 'el9');
  writeFileSync(at(PLAIN_SSH_KEYS_FILE), 'of somebody\n');

  expect(await findDrift(await host.ports(), NEXT.spec)).toMatchObject({
    path: PLAIN_SSH_KEYS_FILE,
  });
});
