import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
} from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import { type BreakableProxy, startBreakableProxy } from '../kube/breakable-proxy';
import { until } from '../tools/until';
import { aConfig, aFile, aPool, condition, metric, useControllers } from './fixture';

jest.setTimeout(60_000);

let directory: string;
/** Between the controllers and the API server; the tests have their own connections. */
let relay: BreakableProxy;

const fixture = useControllers(async ({ client, kubeconfig }) => {
  relay = await startBreakableProxy(Number(new URL(client.server).port));
  directory = await mkdtemp(join(tmpdir(), 'slipway-relay-'));
  const relayed = join(directory, 'kubeconfig');
  const direct = await readFile(kubeconfig, 'utf8');
  await writeFile(relayed, direct.replace(client.server, `https://127.0.0.1:${relay.port}`));
  return { kubeconfig: relayed };
});

afterAll(async () => {
  await relay?.close();
  if (directory !== undefined) await rm(directory, { recursive: true });
});

describe('rendering', () => {
  it('points the pool to a rendered config of its own, with its sources', async () => {
    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('00-first', 'first', [aFile('/etc/a', 'a')]),
    );
    await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool('first'));

    const pool = await fixture.observer.pool(
      'first',
      ({ spec }) => spec.configuration?.name !== undefined,
    );

    const name = pool.spec.configuration?.name ?? '';
    expect(name).toMatch(/^rendered-first-[0-9a-f]{32}$/);
    expect(pool.spec.configuration?.source).toEqual([
      expect.objectContaining({ name: '00-first', kind: 'MachineConfig' }),
    ]);
    const rendered = await fixture.api.client.get(MACHINE_CONFIGS, { name });
    expect(rendered.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'MachineConfigPool', name: 'first', controller: true }),
    ]);
    await fixture.observer.pool(
      'first',
      (one) => condition(one, 'RenderDegraded')?.status === 'False',
    );
  });

  it('folds fifty MachineConfigs that are applied together into at most two renders', async () => {
    await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool('burst'));
    const names = Array.from({ length: 50 }, (_, index) => `10-burst-${index}`);
    await fixture.observer.pool(
      'burst',
      (one) => condition(one, 'RenderDegraded')?.status === 'True',
    );
    const before = fixture.observer.renderedFor('burst').length;
    const rendersBefore = await metric(
      fixture.controllers.metrics,
      'slipway_controllers_renders_total',
      {
        pool: 'burst',
        outcome: 'created',
      },
    );

    // The controllers receive them together, however long the API server takes to store them.
    relay.hold();
    const applied = Promise.all(
      names.map((name) =>
        fixture.api.client.create(
          MACHINE_CONFIGS,
          aConfig(name, 'burst', [aFile(`/etc/${name}`, name)]),
        ),
      ),
    );
    await applied.finally(() => relay.release());
    await fixture.observer.pool('burst', ({ spec }) => spec.configuration?.source?.length === 50);

    const renders = await metric(fixture.controllers.metrics, 'slipway_controllers_renders_total', {
      pool: 'burst',
      outcome: 'created',
    });
    expect(renders - rendersBefore).toBeLessThanOrEqual(2);
    expect(fixture.observer.renderedFor('burst').length - before).toBeLessThanOrEqual(2);
  });
});

describe('the OS image of the ControllerConfig', () => {
  const image = (digit: string) => `registry.example.com/os@sha256:${digit.repeat(64)}`;
  const extensions = image('e');
  const spec = { baseOSContainerImage: image('1'), baseOSExtensionsContainerImage: extensions };

  async function imagesOf(pool: string): Promise<readonly unknown[]> {
    const { spec } = await fixture.api.client.get(MACHINE_CONFIG_POOLS, { name: pool });
    const name = spec.configuration?.name ?? '';
    const rendered = await fixture.api.client.get(MACHINE_CONFIGS, { name });
    return [rendered.spec.osImageURL, rendered.spec.baseOSExtensionsContainerImage];
  }

  const overrides = (pool: string) =>
    metric(fixture.controllers.metrics, 'os_image_url_override', { pool });

  it('reaches every pool, and a MachineConfig that wins over it shows on its pool', async () => {
    const { client } = fixture.api;
    for (const name of ['plain', 'special']) {
      await client.create(MACHINE_CONFIGS, aConfig(`00-${name}`, name, [aFile('/etc/o', name)]));
      await client.create(MACHINE_CONFIG_POOLS, aPool(name));
    }
    const own = aConfig('50-special', 'special', []);
    await client.create(MACHINE_CONFIGS, { ...own, spec: { osImageURL: image('2') } });
    const metadata = { name: 'machine-config-controller' };
    await client.apply(CONTROLLER_CONFIGS, { metadata, spec }, { fieldManager: 'a-person' });

    const shown = await fixture.observer.pool(
      'special',
      (one) => condition(one, 'OSImageOverridden') !== undefined,
    );
    expect(condition(shown, 'OSImageOverridden')?.message).toContain(
      `MachineConfig 50-special sets spec.osImageURL to ${image('2')}, in place of ${image('1')}`,
    );
    expect(condition(shown, 'RenderDegraded')?.status).toBe('False');
    const name = shown.spec.configuration?.name;
    const plain = await fixture.observer.pool(
      'plain',
      (one) => one.spec.configuration !== undefined,
    );
    expect(condition(plain, 'OSImageOverridden')).toBeUndefined();
    expect(await imagesOf('plain')).toEqual([image('1'), extensions]);
    expect(await imagesOf('special')).toEqual([image('2'), extensions]);
    await until(async () => (await overrides('special')) === 1, 'the metric says it');
    await until(async () => (await overrides('plain')) === 0, 'it says that there is none');

    // The cluster comes to have the same image: the config stays, the override ends.
    const changed = { ...spec, baseOSContainerImage: image('2') };
    await client.apply(
      CONTROLLER_CONFIGS,
      { metadata, spec: changed },
      { fieldManager: 'a-person' },
    );
    const ended = await fixture.observer.pool(
      'special',
      (one) => condition(one, 'OSImageOverridden') === undefined,
    );
    expect(ended.spec.configuration?.name).toBe(name);
    const rendered = await client.get(MACHINE_CONFIGS, { name: name ?? '' });
    expect(rendered.metadata.annotations).not.toHaveProperty(ANNOTATION.OS_IMAGE_URL_OVERRIDDEN);
    await until(async () => (await overrides('special')) === 0, 'the metric says that it is over');
  });
});
