import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS } from '../../../adapters/kube/resources';
import { type BreakableProxy, startBreakableProxy } from '../kube/breakable-proxy';
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
