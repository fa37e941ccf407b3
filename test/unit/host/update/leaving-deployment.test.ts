/**
 * A path that cannot be restored in the `/etc` of the update's deployment does not keep the machine there: the old
 * deployment has its own `/etc`.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { goBackAlone } from '../../../../host/confirm/unconfirmed';
import { JOURNAL_DIRECTORY } from '../../../../adapters/host';
import { aConfig, aFile, orderFor } from '../a-host';
import { aCopyOfOstree, anOstreeHost, type OstreeHost } from '../an-ostree-host';

const BIG = 'b'.repeat(5_000);
const [OLD, NEW] = (['old', 'new'] as const).map((name, index) =>
  aConfig(`rendered-worker-${name}`, {
    osImageURL: `os@sha256:${index + 1}`,
    config: {
      storage: {
        files: [
          aFile('/etc/motd', name),
          aFile('/etc/zz', name),
          aFile('/etc/big', `${BIG}${name}`),
          aFile('/var/shared', name),
        ],
      },
    },
  }),
) as [ReturnType<typeof aConfig>, ReturnType<typeof aConfig>];

let host: OstreeHost;
const warnings: string[] = [];

const read = (path: string) => readFileSync(join(host.root, path), 'utf8');
const image = async () => (await host.status()).booted.image;
const marks = async () => (await (await host.ports()).journal.open())?.marks() ?? [];
const verifyBack = async () => (await host.activities()).verifyBack(orderFor(NEW, 'verifyBack'));

/** A directory with other files is in the place of a file. */
function block(path: string): void {
  rmSync(join(host.root, path));
  mkdirSync(join(host.root, path));
  writeFileSync(join(host.root, path, 'notes'), 'theirs');
}

async function goBack() {
  const ports = await host.ports();
  const warn = (sentence: string) => void warnings.push(sentence);
  return createHostActivities({ ...ports, warn }).goBack(orderFor(NEW, 'goBack'));
}

let updated: OstreeHost;
beforeAll(async () => {
  updated = await anOstreeHost(OLD, [NEW]);
  for (const step of ['prepareUpdate', 'applyUpdate', 'armReboot'] as const) {
    await (await updated.activities())[step](orderFor(NEW, step));
  }
  await updated.reboot();
});
beforeEach(async () => {
  warnings.length = 0;
  host = await aCopyOfOstree(updated);
  expect(await image()).toBe('os@sha256:2');
});
afterEach(() => host.remove());
afterAll(() => updated.remove());

async function expectBack(): Promise<void> {
  expect(await image()).toBe('os@sha256:1');
  expect([read('/etc/motd'), read('/etc/zz'), read('/var/shared')]).toEqual(['old', 'old', 'old']);
  await verifyBack();
  expect(await (await host.ports()).journal.open()).toBeUndefined();
}

it('boots the old deployment, and says what could not be put back in this one', async () => {
  block('/etc/zz');

  expect(await goBack()).toMatchObject({ rebooting: true });

  expect(read('/etc/motd')).toBe('old');
  expect(warnings.join()).toContain('put back /etc/zz: a directory that is not empty');
  expect((await marks()).map(({ kind }) => kind)).not.toContain('undone');
  await host.reboot();
  await host.settle();
  await expectBack();
});

it('boots it when no order asks for it', async () => {
  block('/etc/zz');

  await goBackAlone(await host.ports(), 'nobody was reached');

  await host.reboot();
  await host.settle();
  await expectBack();
});

it('boots it when the process died on its way, and the machine came up here once more', async () => {
  block('/etc/zz');
  const ports = await host.ports();
  const dying = { ...ports.os, rollback: () => Promise.reject(new Error('the process died')) };
  await goBackAlone({ ...ports, os: dying }, 'nobody was reached').catch(() => undefined);
  await host.reboot();
  expect(await image()).toBe('os@sha256:2');

  expect(await host.settleOnce()).toMatchObject({ reboot: 'the update is rolled back' });

  await host.reboot();
  await host.settle();
  await expectBack();
});

it('boots it when the operating system does not answer at first', async () => {
  block('/etc/zz');
  const ports = await host.ports();
  let looks = 0;
  const status = async () => {
    looks += 1;
    if (looks > 12) return ports.os.status();
    throw Object.assign(new Error('busy'), { name: 'OsCommandFailed' });
  };
  const slow = { ...ports, os: { ...ports.os, status }, pause: async () => undefined };

  await createHostActivities(slow).goBack(orderFor(NEW, 'goBack'));

  await host.reboot();
  await host.settle();
  await expectBack();
});

it('is not back before a path that all deployments share is', async () => {
  block('/var/shared');
  await goBack();
  await host.reboot();
  expect(await image()).toBe('os@sha256:1');

  await expect(host.settle()).rejects.toMatchObject({
    name: 'RollbackFailed',
    details: { path: '/var/shared' },
  });
  await expect(verifyBack()).rejects.toMatchObject({ name: 'VerifyFailed' });

  rmSync(join(host.root, 'var/shared'), { recursive: true });
  await host.settle();
  await expectBack();
});

it('stays where it is when a before-image is damaged: the old deployment would have the same', async () => {
  const order = 'update-node_worker-1_run-1_applyUpdate';
  const pack = join(host.root, JOURNAL_DIRECTORY, order, 'pack');
  writeFileSync(pack, readFileSync(pack, 'utf8').replaceAll('b', 'c'));

  await expect(goBack()).rejects.toThrow('is damaged; nothing was changed');

  expect([read('/etc/motd'), read('/etc/zz')]).toEqual(['new', 'new']);
  await host.reboot();
  expect(await image()).toBe('os@sha256:2');
});
