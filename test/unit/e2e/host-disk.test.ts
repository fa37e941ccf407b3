import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CURRENT_CONFIG_FILE, wrongOnDisk } from '../../e2e/support/disk-at-rest';
import { roomLeft } from '../../e2e/support/leftovers';
import type { RenderedConfig } from '../../e2e/support/rendered-config';

const MINE = 'rendered-worker-mine';
const OTHER = 'rendered-worker-other';
const UNITS = '/etc/systemd/system';
const UNIT = '[Install]\nUpheldBy=x.target\n';
const LINK = `${UNITS}/x.target.upholds/a.service`;

type Config = RenderedConfig['spec']['config'];

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-disk-'));
  write(`/${CURRENT_CONFIG_FILE}`, JSON.stringify({ metadata: { name: MINE } }));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function place(path: string): string {
  const real = join(root, path);
  mkdirSync(dirname(real), { recursive: true });
  return real;
}

const write = (path: string, text: string): void => writeFileSync(place(path), text);
const link = (path: string, target: string): void => symlinkSync(target, place(path));
const shadow = (hash: string): void =>
  write('/etc/shadow', `root:!::0:99999:7:::\ncore:${hash}:19000:0:99999:7:::\n`);

/** Differences from the first of two configs. */
function found(mine: Config, other: Config = {}): Promise<readonly string[]> {
  const configs = [
    { metadata: { name: MINE }, spec: { config: mine } },
    { metadata: { name: OTHER }, spec: { config: other } },
  ];
  const byName = new Map(configs.map((config) => [config.metadata.name, config]));
  return wrongOnDisk(byName, MINE, root);
}

describe('the password of core', () => {
  const withHash = (passwordHash: string): Config => ({
    passwd: { users: [{ name: 'core', passwordHash }] },
  });
  const ANOTHER = '/etc/shadow has another password of core than the config';
  const LEFT = '/etc/shadow has a password of core that only other configs have';

  test.each([
    ['the one of the config', withHash('$6$mine'), '$6$mine', []],
    ['that of another config', withHash('$6$mine'), '$6$other', [ANOTHER]],
    ['none', withHash('$6$mine'), '*', [ANOTHER]],
    ['left of another config', {}, '$6$other', [LEFT]],
    ["a person's, where the config has none", {}, '$6$person', []],
    ['locked, where the config has none', {}, '*', []],
    ['the same in both', withHash('$6$other'), '$6$other', []],
  ])('is %s', async (_what, mine, hash, wrong) => {
    shadow(hash);
    expect(await found(mine, withHash('$6$other'))).toEqual(wrong);
  });

  test('is empty, and no config speaks of it', async () => {
    shadow('');
    expect(await found({}, {})).toEqual([]);
  });

  test('is missing', async () => {
    expect(await found(withHash('$6$mine'))).toEqual([ANOTHER]);
    write('/etc/shadow', 'root:$6$mine:19000:0:99999:7:::\n');
    expect(await found(withHash('$6$mine'))).toEqual([ANOTHER]);
  });
});

describe('what the host makes while it writes', () => {
  const fileAt = (path: string): Config => ({
    storage: { files: [{ path, contents: { source: 'data:,' } }] },
  });

  test.each([
    '/etc/.slipway-0123456789abcdef',
    '/etc/deep/below/.slipway-0123456789abcdef',
    '/opt/app/.slipway-0123456789abcdef',
  ])('is left as %s', async (path) => {
    write(path, 'half');
    expect(await found({}, fileAt('/opt/app/x.conf'))).toEqual([
      `${path} is there, which a write has left`,
    ]);
  });

  test.each(['/etc/.slipway-room', '/var/lib/slipway/journal/.slipway-room'])(
    'is left as %s',
    async (path) => {
      write(path, 'room');
      expect(await roomLeft(root)).toEqual([`${path} is there, and no update keeps it`]);
    },
  );

  test.each([
    '/var/lib/slipway/.slipway-0123456789abcdef',
    '/etc/.slipway-mine.conf',
    '/.slipway-owners.json',
  ])('is not %s', async (path) => {
    write(path, '{}');
    expect(await found({}, fileAt('/opt/app/x.conf'))).toEqual([]);
    expect(await roomLeft(root)).toEqual([]);
  });
});

describe('a link by which one unit upholds another', () => {
  const units = (enabled: boolean): Config => ({
    systemd: { units: [{ name: 'a.service', enabled, contents: UNIT }] },
  });

  beforeEach(() => {
    write(`${UNITS}/a.service`, UNIT);
  });

  test('is wanted of a unit that is enabled', async () => {
    expect(await found(units(true))).toEqual([`a.service is not enabled: ${LINK} is missing`]);
    link(LINK, `${UNITS}/a.service`);
    expect(await found(units(true))).toEqual([]);
  });

  test('enables a unit that is not to be', async () => {
    link(LINK, `${UNITS}/a.service`);
    expect(await found(units(false))).toEqual([
      `${LINK} enables a.service, which the config does not`,
    ]);
  });

  test('is left of a unit of another config', async () => {
    link(LINK, `${UNITS}/a.service`);
    expect(await found({}, units(true))).toEqual([
      `${UNITS}/a.service is there, and only other configs have it`,
      `${LINK} enables a.service, which only other configs have`,
    ]);
  });
});
