/** Directories changed between an update and its rollback, which must still lead to the old config. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { goBackAlone } from '../../../../host/confirm/unconfirmed';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { type FileSystem, NODE_FILE_SYSTEM } from '../../../../adapters/host';
import { treeOf } from '../../adapters/host/trees';
import {
  aConfig,
  aCopyOf,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';
import { aCopyOfOstree, anOstreeHost, type OstreeHost } from '../an-ostree-host';

const unit = (dropins: readonly object[]) => ({
  name: 'one.service',
  enabled: true,
  contents: '[Service]\nExecStart=/bin/one\n[Install]\nWantedBy=odd.target\n',
  dropins,
});
const MANY = Array.from(
  { length: 70 },
  (_, index) => `/etc/many/${String(index).padStart(2, '0')}`,
);
const OLD = aConfig('rendered-worker-old', {
  config: {
    storage: {
      files: [
        aFile('/etc/motd', 'old'),
        aFile('/etc/zz', 'old'),
        aFile('/etc/tool/sub/only', 'x'),
        ...MANY.map((path) => aFile(path, 'old')),
      ],
    },
    systemd: { units: [unit([{ name: '1.conf', contents: '[Unit]\n' }])] },
  },
} as Parameters<typeof aConfig>[1]);
/** Drops all files in two directories. */
const NEW = aConfig('rendered-worker-new', {
  config: {
    storage: {
      files: [
        aFile('/etc/motd', 'new'),
        aFile('/etc/zz', 'new'),
        aFile('/etc/added', 'new'),
        ...MANY.map((path) => aFile(path, 'new')),
      ],
    },
    systemd: { units: [unit([])] },
  },
} as Parameters<typeof aConfig>[1]);

let host: TestHost;
let before: Readonly<Record<string, string>>;

const at = (path: string) => join(host.root, path);
const read = (path: string) => readFileSync(at(path), 'utf8');
const tree = () => treeOf(host.root, 'var');
const replaceByDirectory = (path: string, ...names: readonly string[]) => {
  rmSync(at(path));
  mkdirSync(at(path));
  for (const name of names) writeFileSync(join(at(path), name), 'theirs');
};
const goBack = async () => (await host.activities()).goBack(orderFor(NEW, 'goBack'));
const verifyBack = async () => (await host.activities()).verifyBack(orderFor(NEW, 'verifyBack'));

/** A disk on which files of these names cannot be replaced. */
function refusing(names: ReadonlySet<string>): FileSystem {
  return {
    ...NODE_FILE_SYSTEM,
    async rename(from, to) {
      const refused = Object.assign(new Error('EPERM'), { code: 'EPERM', errno: -1 });
      if (names.has(basename(String(to)))) throw refused;
      await NODE_FILE_SYSTEM.rename(from, to);
    },
  };
}

async function apply(): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
}

let updated: TestHost;
beforeAll(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
  chmodSync(at('/etc/many'), 0o750);
  execFileSync('setfattr', ['-n', 'user.kept', '-v', 'as it was', at('/etc/many')]);
  before = tree();
  await apply();
  updated = host;
});
beforeEach(async () => {
  host = await aCopyOf(updated);
});
afterEach(() => host.remove());
afterAll(() => updated.remove());

describe.each([
  ['an empty directory was removed', () => rmSync(at('/etc/tool'), { recursive: true })],
  [
    'the empty directory of drop-ins was removed',
    () => rmdirSync(at('/etc/systemd/system/one.service.d')),
  ],
  [
    'a directory was removed with a changed file',
    () => rmSync(at('/etc/many'), { recursive: true }),
  ],
  ['an empty directory replaced a changed file', () => replaceByDirectory('/etc/zz')],
  ['an empty directory replaced a new file', () => replaceByDirectory('/etc/added')],
])('when %s', (_what, edit) => {
  it('an order leads back to the old config', async () => {
    edit();

    await goBack();
    await verifyBack();

    expect(tree()).toEqual(before);
  });

  it('the machine comes back by itself after a power cut', async () => {
    edit();
    await host.boot();

    await settleAtStart(await host.ports());

    expect(tree()).toEqual(before);
  });
});

it('names a directory of somebody else in the place of what only the update had, and leaves it', async () => {
  replaceByDirectory('/etc/added', 'notes');

  await goBack();

  expect(await verifyBack()).toMatchObject({ kept: ['/etc/added'] });
  expect(read('/etc/added/notes')).toBe('theirs');
});

it('names nothing when no program has added anything', async () => {
  await goBack();

  expect(await verifyBack()).not.toHaveProperty('kept');
});

describe('what cannot be put back', () => {
  it('keeps nothing else from going back, and is named', async () => {
    replaceByDirectory('/etc/zz', 'notes');

    await expect(goBack()).rejects.toMatchObject({
      name: 'RollbackFailed',
      message: 'put back /etc/zz: a directory that is not empty is in its place: move it away',
      details: { path: '/etc/zz' },
    });

    expect(readFileSync(join(at('/etc/zz'), 'notes'), 'utf8')).toBe('theirs');
    expect([read('/etc/motd'), read('/etc/tool/sub/only')]).toEqual(['old', 'x']);
    expect(existsSync(at('/etc/added'))).toBe(false);
    for (const path of MANY) expect(read(path)).toBe('old');
  });

  it('does not keep systemd from being notified of every restored unit', async () => {
    replaceByDirectory('/etc/zz', 'notes');
    const ports = await host.ports();
    const reloads: string[] = [];
    const systemd = { ...ports.systemd, daemonReload: async () => void reloads.push('reload') };
    const driver = createHostActivities({ ...ports, systemd });

    await expect(driver.goBack(orderFor(NEW, 'goBack'))).rejects.toThrow('/etc/zz');

    expect(reloads).toEqual(['reload']);
  });

  it('is put back by the next attempt once it is out of the way', async () => {
    replaceByDirectory('/etc/zz', 'notes');
    await expect(goBack()).rejects.toThrow('/etc/zz');
    await expect(verifyBack()).rejects.toMatchObject({ name: 'VerifyFailed' });
    rmSync(at('/etc/zz'), { recursive: true });

    await goBack();
    await verifyBack();

    expect(tree()).toEqual(before);
  });

  it('is named with a file that stands where its directory was', async () => {
    rmSync(at('/etc/tool'), { recursive: true });
    writeFileSync(at('/etc/tool'), 'theirs');

    await expect(goBack()).rejects.toThrow(
      'put back /etc/tool/sub/only: /etc/tool is no directory: move it away',
    );

    expect(read('/etc/tool')).toBe('theirs');
    expect(read('/etc/motd')).toBe('old');
  });

  it('names up to three paths, and how many more there are', async () => {
    for (const path of MANY.slice(0, 5)) replaceByDirectory(path, 'notes');

    const error = await goBack().catch((reason: unknown) => reason);

    expect(error).toMatchObject({
      message: expect.stringMatching(/(\/etc\/many\/0\d: .*){3}; and 2 more$/) as string,
    });
    for (const path of MANY.slice(5)) expect(read(path)).toBe('old');
  });

  it('is distinguished from the others that are written together with it', async () => {
    const refused = new Set(['03', '66']);
    const journal = await (await host.ports(refusing(refused))).journal.open();

    await expect(journal?.undo()).rejects.toThrow(
      /^put back \/etc\/many\/66: operation not permitted \(EPERM\); \/etc\/many\/03: operation/,
    );

    for (const path of MANY) expect(read(path)).toBe(refused.has(basename(path)) ? 'new' : 'old');
  });
});

describe('a directory that the new image of the operating system does not bring', () => {
  const [OF_OLD, OF_NEW] = ['1', '2'].map((image) =>
    aConfig(`rendered-worker-${image}`, {
      osImageURL: `os@sha256:${image}`,
      config: {
        storage: {
          files: [
            aFile('/etc/motd', image),
            ...(image === '1' ? [aFile('/etc/chrony.d/ours.conf', 'x')] : []),
          ],
        },
      },
    }),
  ) as [TestConfig, TestConfig];
  let template: OstreeHost;
  let booted: OstreeHost;

  beforeAll(async () => {
    booted = await anOstreeHost(OF_OLD, [OF_NEW]);
    for (const step of ['prepareUpdate', 'applyUpdate', 'armReboot'] as const) {
      await (await booted.activities())[step](orderFor(OF_NEW, step));
    }
    await booted.reboot();
    rmdirSync(join(booted.root, 'etc/chrony.d'));
    template = booted;
  });
  beforeEach(async () => {
    booted = await aCopyOfOstree(template);
  });
  afterEach(() => booted.remove());
  afterAll(() => template.remove());

  it.each([
    ['an order', async () => (await booted.activities()).goBack(orderFor(OF_NEW, 'goBack'))],
    ['itself', async () => goBackAlone(await booted.ports(), 'nobody confirmed')],
  ])('keeps no machine from being rolled back by %s', async (_who, back) => {
    await back();
    await booted.reboot();
    await booted.settle();

    expect((await booted.status()).booted.image).toBe('os@sha256:1');
    expect(readFileSync(join(booted.root, 'etc/motd'), 'utf8')).toBe('1');
    expect(existsSync(join(booted.root, 'etc/chrony.d/ours.conf'))).toBe(true);
  });
});
