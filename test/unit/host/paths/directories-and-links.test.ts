/**
 * Directories and links of a config: Ignition makes them, on a new machine only. A change of them is refused, and
 * their state is not checked: both as in MCO.
 */

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

type Config = NonNullable<NonNullable<Parameters<typeof aConfig>[1]>['config']>;
type Storage = NonNullable<Config['storage']>;
const image = 'quay.io/os@sha256:1';
const config = (name: string, storage: Storage): TestConfig =>
  aConfig(name, { osImageURL: image, config: { storage } });

const directory = (mode: number) => ({ path: '/etc/dir', mode });
const link = (target: string) => ({ path: '/etc/link', target });
const both = { directories: [directory(0o700)], links: [link('/etc/one')] };

const OLD = config('rendered-worker-old', { ...both, files: [aFile('/etc/motd', 'old')] });
const NEW = config('rendered-worker-new', { ...both, files: [aFile('/etc/motd', 'new')] });
const files = [aFile('/etc/motd', 'new')];
const CHANGES: Readonly<Record<string, Storage>> = {
  'a directory more': { ...both, directories: [directory(0o700), { path: '/etc/more' }], files },
  'a directory less': { links: both.links, files },
  'another mode of a directory': { ...both, directories: [directory(0o755)], files },
  'a link more': { ...both, links: [link('/etc/one'), { path: '/etc/more', target: '/x' }], files },
  'another target of a link': { ...both, links: [link('/etc/two')], files },
};
const changed = Object.entries(CHANGES).map(
  ([what, storage]) =>
    [what, config(`rendered-worker-${what.replaceAll(' ', '-')}`, storage)] as const,
);
const owned = { user: { id: 1_000 }, group: { id: 1_000 } };
const listed = { directories: [{ path: '/etc/made', mode: 0o710, ...owned }] };
const BEFORE = config('rendered-worker-before', { ...listed, files: [] });
const BELOW = config('rendered-worker-below', {
  ...listed,
  files: [aFile('/etc/made/below/one.conf', 'one')],
});
const NO_LINKS = config('rendered-worker-no-links', { directories: both.directories, files });

let host: TestHost;
const at = (path: string) => join(host.root, path);

beforeEach(async () => {
  host = await aHost([OLD, NEW, NO_LINKS, BEFORE, BELOW, ...changed.map(([, one]) => one)]);
  // As Ignition leaves them.
  mkdirSync(at('etc/dir'), { recursive: true });
  chmodSync(at('etc/dir'), 0o700);
  symlinkSync('/etc/one', at('etc/link'));
  await bootInto(host, OLD);
});
afterEach(() => host.remove());

const facts = () => ({
  mode: lstatSync(at('etc/dir')).mode & 0o777,
  link: readlinkSync(at('etc/link')),
});

it.each(changed)('%s: the update is refused, and nothing is done about it', async (what, to) => {
  const activities = await host.activities();

  const { plan } = await activities.prepareUpdate(orderFor(to, 'prepareUpdate'));

  const section = what.includes('link') ? 'links' : 'directories';
  const reason = `ignition ${section} section contains changes`;
  expect(plan).toMatchObject({ reconcilable: { ok: false, reason }, reboot: false });
  expect(plan.summary).toBe(`cannot be applied: ${reason}`);
  await expect(activities.applyUpdate(orderFor(to, 'applyUpdate'))).rejects.toMatchObject({
    name: 'Unreconcilable',
    message: `${to.reference.name} cannot be applied to worker-1: ${reason}`,
  });
  const { os, journal } = await host.ports();
  expect((await os.status()).staged).toBeUndefined();
  expect(await journal.open()).toBeUndefined();
  expect(facts()).toEqual({ mode: 0o700, link: '/etc/one' });
  expect(existsSync(at('etc/more'))).toBe(false);
});

async function update(to: TestConfig): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(to, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(to, 'applyUpdate'));
  const { bootId } = await activities.armReboot(orderFor(to, 'armReboot'));
  await host.boot();
  const again = await host.activities();
  await again.verifyUpdate({ ...orderFor(to, 'verifyUpdate'), rebootedFrom: bootId });
  await again.commitUpdate(orderFor(to, 'commitUpdate'));
}

it('that stay in the config are left as they are by an update', async () => {
  await update(NEW);

  expect(facts()).toEqual({ mode: 0o700, link: '/etc/one' });
});

it('that somebody changed are no drift, and keep no update', async () => {
  chmodSync(at('etc/dir'), 0o755);
  rmSync(at('etc/link'));
  symlinkSync('/elsewhere', at('etc/link'));

  await update(NEW);

  expect(facts()).toEqual({ mode: 0o755, link: '/elsewhere' });
});

it('a config without its links is taken, and they stay on the machine', async () => {
  await update(NO_LINKS);

  expect(facts()).toEqual({ mode: 0o700, link: '/etc/one' });
});

describe('a directory of the config that somebody removed', () => {
  const directoryFacts = async (path: string) => (await host.ports()).files.facts(path);
  beforeEach(async () => {
    host.remove();
    host = await aHost([BEFORE, BELOW]);
    await bootInto(host, BEFORE);
  });

  it('is made again as the config has it, for what is written below', async () => {
    await update(BELOW);

    expect(await directoryFacts('/etc/made')).toEqual({
      kind: 'directory',
      mode: 0o710,
      owner: { uid: 1_000, gid: 1_000 },
    });
    expect(await directoryFacts('/etc/made/below')).toMatchObject({ mode: 0o755 });
  });

  it('is gone again when the update is rolled back', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(BELOW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(BELOW, 'applyUpdate'));
    expect(existsSync(at('etc/made/below/one.conf'))).toBe(true);

    await activities.goBack(orderFor(BELOW, 'goBack'));

    expect(existsSync(at('etc/made'))).toBe(false);
  });
});
