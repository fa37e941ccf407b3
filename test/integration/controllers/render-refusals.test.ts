import { randomBytes } from 'node:crypto';
import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  OS_IMAGE_STREAMS,
} from '../../../adapters/kube/resources';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aConfig, aFile, aPool, condition, withConfig, useControllers } from './fixture';

jest.setTimeout(60_000);

const fixture = useControllers();
let pools = 0;

async function aRenderedPool(): Promise<MachineConfigPool> {
  pools += 1;
  const name = `pool${pools}`;
  await fixture.api.client.create(
    MACHINE_CONFIGS,
    aConfig(`00-${name}`, name, [aFile('/etc/good', 'g')]),
  );
  await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool(name));
  return fixture.observer.pool(
    name,
    (pool) =>
      pool.spec.configuration?.name !== undefined &&
      condition(pool, 'RenderDegraded')?.status === 'False',
  );
}

function isDegraded(pool: MachineConfigPool): boolean {
  return condition(pool, 'RenderDegraded')?.status === 'True';
}

const v32 = (config: object): object => ({ ignition: { version: '3.2.0' }, ...config });
const files = (...list: object[]): object => v32({ storage: { files: list } });
const units = (...list: object[]): object => v32({ systemd: { units: list } });
const source = (text: string, more: object = {}): object =>
  files({ path: '/etc/x', mode: 420, contents: { source: text, ...more } });

describe('a bad MachineConfig degrades its pool with its name, the field and the fix', () => {
  it.each<[string, unknown, string[]]>([
    ['an unknown Ignition version', { ignition: { version: '9.9.9' } }, ['version', '9.9.9']],
    ['no Ignition version', {}, ['spec.config.ignition.version', '3.5.0']],
    ['a relative path', files(aFile('etc/x', 'x')), ['storage.files', 'path']],
    [
      'the same path twice',
      files(aFile('/etc/x', 'x'), aFile('/etc/x', 'y')),
      ['storage.files[1]', 'duplicate'],
    ],
    ['a path below /proc', files(aFile('/proc/sys/x', '1')), ['files[0].path', '/proc/sys/x']],
    [
      'the file that skips checks',
      files(aFile('/run/machine-config-daemon-force', '')),
      ['files[0].path', '/run/machine-config-daemon-force'],
    ],
    ['a data URL without a comma', source('data:text/plain'), ['contents']],
    ['bad base64', source('data:;base64,%%%not*base64'), ['contents']],
    [
      'bad gzip',
      source('data:;base64,bm90IGd6aXA=', { compression: 'gzip' }),
      ['contents', 'gzip'],
    ],
    ['a mode out of range', files(aFile('/etc/x', 'x', { mode: 99999 })), ['files[0].mode']],
    ['a negative mode', files(aFile('/etc/x', 'x', { mode: -1 })), ['mode']],
    ['a unit with a bad name', units({ name: 'new', contents: '[Unit]\n' }), ['units[0]', 'name']],
    ['a remote source', source('https://example.com/x'), ['contents.source']],
    ['a user other than core', v32({ passwd: { users: [{ name: 'eve' }] } }), ['user']],
  ])('%s', async (_what, config, naming) => {
    const before = await aRenderedPool();
    const { name } = before.metadata;

    await fixture.api.client.create(MACHINE_CONFIGS, withConfig(`99-${name}-bad`, name, config));
    const after = await fixture.observer.pool(name, isDegraded);

    const { message = '', reason } = condition(after, 'RenderDegraded') ?? {};
    expect(message).toContain(`Failed to render configuration for pool ${name}: `);
    for (const part of [`99-${name}-bad`, ...naming]) expect(message).toContain(part);
    expect(reason).toMatch(/^(InvalidMachineConfig|InvalidIgnition|Unreconcilable)$/);
    expect(after.spec.configuration).toEqual(before.spec.configuration);
    // The pool status controller sets Degraded afterwards.
    await fixture.observer.pool(name, (pool) => condition(pool, 'Degraded')?.status === 'True');

    await fixture.api.client.delete(MACHINE_CONFIGS, { name: `99-${name}-bad` });
    await fixture.observer.pool(name, (pool) => condition(pool, 'Degraded')?.status === 'False');
  });

  it('and leaves every other pool alone', async () => {
    const [bad, good] = [await aRenderedPool(), await aRenderedPool()];
    const [badName, goodName] = [bad.metadata.name, good.metadata.name];

    await fixture.api.client.create(
      MACHINE_CONFIGS,
      withConfig('99-malformed', badName, { ignition: { version: 'latest' } }),
    );
    await fixture.observer.pool(badName, isDegraded);
    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('99-fine', goodName, [aFile('/etc/fine', 'f')]),
    );

    const after = await fixture.observer.pool(
      goodName,
      ({ spec }) => spec.configuration?.source?.length === 2,
    );
    expect(isDegraded(after)).toBe(false);
  });

  it('that is too large for etcd is refused with its size', async () => {
    const pool = await aRenderedPool();
    const { name } = pool.metadata;
    const half = randomBytes(600_000).toString('base64');
    const large = (path: string): object => ({
      path,
      mode: 420,
      overwrite: true,
      contents: { source: `data:;base64,${half}` },
    });

    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('50-half', name, [large('/etc/half')]),
    );
    await fixture.observer.pool(name, ({ spec }) => spec.configuration?.source?.length === 2);
    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('60-half', name, [large('/etc/other')]),
    );
    const after = await fixture.observer.pool(name, isDegraded);

    const { message = '', reason } = condition(after, 'RenderDegraded') ?? {};
    expect(reason).toBe('ConfigTooLarge');
    expect(message).toMatch(/has 16\d{5} bytes, and the API server stores at most 1572864/);
    expect(after.spec.configuration?.source).toHaveLength(2);
  });

  it('that changes what a running machine cannot change is refused', async () => {
    const pool = await aRenderedPool();
    const { name } = pool.metadata;
    const directories = [{ path: '/etc/new', mode: 493 }];

    await fixture.api.client.create(
      MACHINE_CONFIGS,
      withConfig('99-directory', name, v32({ storage: { directories } })),
    );
    const after = await fixture.observer.pool(name, isDegraded);

    expect(condition(after, 'RenderDegraded')).toMatchObject({
      reason: 'Unreconcilable',
      message: expect.stringContaining('ignition directories section contains changes') as string,
    });
    expect(condition(after, 'RenderDegraded')?.message).toContain('99-directory');
  });
});

describe('a pool', () => {
  it('without MachineConfigs says so, and is rendered when one comes', async () => {
    await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool('lonely'));
    const degraded = await fixture.observer.pool('lonely', isDegraded);
    expect(condition(degraded, 'RenderDegraded')).toMatchObject({ reason: 'NoMachineConfigs' });

    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('00-lonely', 'lonely', [aFile('/etc/l', 'l')]),
    );

    await fixture.observer.pool(
      'lonely',
      (pool) => condition(pool, 'RenderDegraded')?.status === 'False',
    );
  });

  it('that chooses a stream which is not there says so, and is rendered once there is one', async () => {
    const { client } = fixture.api;
    const image = (digit: string) => `registry.example.com/os@sha256:${digit.repeat(64)}`;
    const osImageStream = { name: 'rhel-10' };
    await client.create(MACHINE_CONFIGS, aConfig('00-stream', 'stream', [aFile('/etc/s', 's')]));
    await client.create(MACHINE_CONFIG_POOLS, aPool('stream', { osImageStream }));
    const degraded = await fixture.observer.pool('stream', isDegraded);
    expect(condition(degraded, 'RenderDegraded')).toMatchObject({
      reason: 'InvalidPool',
      message: expect.stringContaining(
        'machineconfigpool stream: spec.osImageStream.name: there is no OSImageStream cluster',
      ) as unknown,
    });

    const metadata = { name: 'cluster' };
    const owner = { fieldManager: 'a-person' };
    await client.apply(OS_IMAGE_STREAMS, { metadata, spec: {} }, owner);
    const stream = { name: 'rhel-10', osImage: image('1'), osExtensionsImage: image('2') };
    const status = { availableStreams: [stream], defaultStream: 'rhel-10' };
    const how = { ...owner, subresource: 'status' };
    await client.apply(OS_IMAGE_STREAMS, { metadata, status }, how);
    const pool = await fixture.observer.pool(
      'stream',
      (one) => condition(one, 'RenderDegraded')?.status === 'False',
    );

    const name = pool.spec.configuration?.name ?? '';
    const { spec } = await client.get(MACHINE_CONFIGS, { name });
    expect(spec.osImageURL).toBe(image('1'));
    expect(spec.baseOSExtensionsContainerImage).toBe(image('2'));
  });

  it('that selects everything is left alone, with an Event', async () => {
    await fixture.api.client.create(
      MACHINE_CONFIG_POOLS,
      aPool('everything', { machineConfigSelector: {} }),
    );
    await fixture.observer.until(fixture.observer.events, () =>
      fixture.observer.events.list().some(({ reason }) => reason === 'SelectingAll'),
    );

    const pool = await fixture.api.client.get(MACHINE_CONFIG_POOLS, { name: 'everything' });
    expect(pool.spec.configuration).toBeUndefined();
    expect(condition(pool, 'RenderDegraded')).toBeUndefined();
  });
});
