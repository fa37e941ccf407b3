/** Units that `Also` of other units enables and disables: no other change of the config removes their links. */

import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findDrift } from '../../../../host/drift/compare';
import { repairDrift, type Repaired } from '../../../../host/drift/repair';
import { mergeDisruptionPolicies } from '../../../../core/disruption';
import type { IgnitionUnit } from '../../../../core/machine-config/types';
import { aConfig, aHost, bootInto, orderFor, type TestConfig, type TestHost } from '../a-host';

const unit = (target: string, also = ''): string =>
  `[Unit]\nDescription=one\n[Install]\nWantedBy=${target}\n${also === '' ? '' : `Also=${also}\n`}`;

const SERVICE: IgnitionUnit = {
  name: 'pair.service',
  enabled: true,
  contents: unit('multi-user.target', 'pair.socket'),
};
const SOCKET: IgnitionUnit = { name: 'pair.socket', contents: unit('sockets.target') };
const VENDOR_SOCKET = '/usr/lib/systemd/system/pair.socket';
const BOTH = [
  'multi-user.target.wants/pair.service -> /etc/systemd/system/pair.service',
  'sockets.target.wants/pair.socket -> /etc/systemd/system/pair.socket',
];

const config = (name: string, ...units: readonly IgnitionUnit[]): TestConfig =>
  aConfig(`rendered-worker-${name}`, { osImageURL: 'os@sha256:1', config: { systemd: { units } } });

let host: TestHost;
afterEach(() => host.remove());

function write(path: string, text: string): void {
  const file = join(host.root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

async function furnish(...configs: readonly TestConfig[]): Promise<void> {
  host = await aHost(configs);
  write('/usr/lib/systemd/system-preset/90.preset', 'disable *\n');
  write(VENDOR_SOCKET, unit('sockets.target'));
}

async function begin(first: TestConfig, ...others: readonly TestConfig[]): Promise<void> {
  await furnish(first, ...others);
  await bootInto(host, first);
}

async function apply(to: TestConfig): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(to, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(to, 'applyUpdate'));
}

function links(): readonly string[] {
  const directory = join(host.root, 'etc/systemd/system');
  return readdirSync(directory, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => `${path.slice(directory.length + 1)} -> ${readlinkSync(path)}`)
    .sort();
}

const drift = async (on: TestConfig) => findDrift(await host.ports(), on.spec);

it.each([
  ['before it', [SERVICE, SOCKET]],
  ['after it', [SOCKET, SERVICE]],
])('a unit is enabled by one that the config lists %s', async (_where, units) => {
  await begin(config('pair', ...units));

  expect(links()).toEqual(BOTH);
});

describe.each(['first', 'last'])('what a unit itself says counts, listed %s', (place) => {
  const inPlace = (socket: IgnitionUnit, service: IgnitionUnit) =>
    place === 'first' ? [socket, service] : [service, socket];

  it('when the one that names it is disabled', async () => {
    await begin(
      config('pair', ...inPlace({ ...SOCKET, enabled: true }, { ...SERVICE, enabled: false })),
    );

    expect(links()).toEqual([BOTH[1]]);
  });

  it('when the one that names it is enabled', async () => {
    await begin(config('pair', ...inPlace({ ...SOCKET, enabled: false }, SERVICE)));

    expect(links()).toEqual([BOTH[0]]);
  });
});

it('a unit that changes stays enabled by one that does not', async () => {
  const changed = { ...SOCKET, contents: `# another\n${SOCKET.contents ?? ''}` };
  const to = config('new', SERVICE, changed);
  await begin(config('old', SERVICE, SOCKET), to);

  await apply(to);

  expect(links()).toEqual(BOTH);
});

it("a distribution's unit stays enabled when the config no longer mentions it", async () => {
  const vendors = { name: 'pair.socket' };
  const to = config('new', SERVICE);
  await begin(config('old', SERVICE, vendors), to);
  const enabled = [BOTH[0], `sockets.target.wants/pair.socket -> ${VENDOR_SOCKET}`];
  expect(links()).toEqual(enabled);

  await apply(to);

  expect(links()).toEqual(enabled);
});

it.each([
  ['goes', []],
  ['does without it', [{ ...SERVICE, contents: unit('multi-user.target') }]],
])('an enabled unit stays so when the one that names it %s', async (_how, others) => {
  const socket = { ...SOCKET, enabled: true };
  const to = config('new', ...others, socket);
  await begin(config('old', SERVICE, socket), to);

  await apply(to);

  expect(links()).toContain(BOTH[1]);
  expect(await drift(to)).toBeUndefined();
});

it('an enabled unit stays so when a new one that names it is disabled', async () => {
  const socket = { ...SOCKET, enabled: true };
  const to = config('new', socket, { ...SERVICE, enabled: false });
  await begin(config('old', socket), to);

  await apply(to);

  expect(links()).toEqual([BOTH[1]]);
  expect(await drift(to)).toBeUndefined();
});

it('a disabled unit stays so when a preset enables the one that names it', async () => {
  const socket = { ...SOCKET, enabled: false };
  const from = config('old', { name: 'pair.service', enabled: true }, socket);
  const to = config('new', socket);
  await furnish(from, to);
  write('/usr/lib/systemd/system/pair.service', SERVICE.contents ?? '');
  write('/usr/lib/systemd/system-preset/10.preset', 'enable pair.service\n');
  await bootInto(host, from);

  await apply(to);

  expect(links()).toEqual([BOTH[0]?.replace('/etc/', '/usr/lib/')]);
  expect(await drift(to)).toBeUndefined();
});

it('the rollback restores every link', async () => {
  const [from, to] = [
    config('old', SERVICE, SOCKET),
    config('new', { ...SERVICE, contents: unit('other.target', 'pair.socket') }, SOCKET),
  ];
  await begin(from, to);
  await apply(to);
  expect(links()).toEqual([BOTH[0]?.replace('multi-user', 'other'), BOTH[1]]);

  await (await host.activities()).goBack(orderFor(to, 'goBack'));

  expect(links()).toEqual(BOTH);
  expect(await drift(from)).toBeUndefined();
});

describe.each(['first', 'last'])(
  'what a unit itself says counts in a repair, listed %s',
  (place) => {
    const inPlace = (socket: IgnitionUnit, service: IgnitionUnit) =>
      config('pair', ...(place === 'first' ? [socket, service] : [service, socket]));
    const policies = mergeDisruptionPolicies({
      units: ['pair.service', 'pair.socket'].map((name) => ({ name, actions: [{ type: 'None' }] })),
    });

    async function repair(on: TestConfig, ...drifted: readonly string[]): Promise<Repaired> {
      const { reference, spec } = on;
      return repairDrift(await host.ports(), {
        config: { reference, spec, raw: {} },
        findings: drifted.map((path) => ({ path, kind: 'unit', detail: '', since: '' })),
        policies,
        mayRepair: () => true,
        mayDisturb: true,
        count: () => Promise.resolve(),
      });
    }

    function link(line: string): void {
      const [at = '', target = ''] = line.split(' -> ');
      const path = join(host.root, 'etc/systemd/system', at);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(target, path);
    }

    it('when the one that names it was enabled', async () => {
      const on = inPlace({ ...SOCKET, enabled: true }, { ...SERVICE, enabled: false });
      await begin(on);
      link(BOTH[0] ?? '');

      expect(await repair(on, 'pair.service')).toEqual({ paths: ['pair.service'] });

      expect(links()).toEqual([BOTH[1]]);
      expect(await drift(on)).toBeUndefined();
    });

    it('when the one that names it was enabled, and it was not', async () => {
      const on = inPlace({ ...SOCKET, enabled: true }, { ...SERVICE, enabled: false });
      await begin(on);
      link(BOTH[0] ?? '');
      rmSync(join(host.root, 'etc/systemd/system/sockets.target.wants'), { recursive: true });

      await repair(on, 'pair.socket', 'pair.service');

      expect(links()).toEqual([BOTH[1]]);
    });

    it('when the one that names it was disabled', async () => {
      const on = inPlace({ ...SOCKET, enabled: false }, SERVICE);
      await begin(on);
      rmSync(join(host.root, 'etc/systemd/system/multi-user.target.wants'), { recursive: true });

      await repair(on, 'pair.service');

      expect(links()).toEqual([BOTH[0]]);
    });
  },
);
