import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS } from '../../../adapters/kube/resources';
import { startApiServer, type TestApiServer } from '../crds/api-server';
import {
  aConfig,
  aFile,
  aPool,
  condition,
  metric,
  Observer,
  startControllers,
  type RunningControllers,
} from './bench';

jest.setTimeout(60_000);

let api: TestApiServer;
let observer: Observer;
let controllers: RunningControllers;

beforeAll(async () => {
  api = await startApiServer();
  observer = new Observer(api.client);
  await observer.ready();
  controllers = await startControllers(api.kubeconfig);
}, 300_000);

afterAll(async () => {
  await controllers.stop();
  observer.stop();
  await api.stop();
}, 60_000);

describe('rendering', () => {
  it('points the pool to a rendered config of its own, with its sources', async () => {
    await api.client.create(MACHINE_CONFIGS, aConfig('00-first', 'first', [aFile('/etc/a', 'a')]));
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('first'));

    const pool = await observer.pool('first', ({ spec }) => spec.configuration?.name !== undefined);

    const name = pool.spec.configuration?.name ?? '';
    expect(name).toMatch(/^rendered-first-[0-9a-f]{32}$/);
    expect(pool.spec.configuration?.source).toEqual([
      expect.objectContaining({ name: '00-first', kind: 'MachineConfig' }),
    ]);
    const rendered = await api.client.get(MACHINE_CONFIGS, { name });
    expect(rendered.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'MachineConfigPool', name: 'first', controller: true }),
    ]);
    await observer.pool('first', (one) => condition(one, 'RenderDegraded')?.status === 'False');
  });

  it('folds fifty MachineConfigs that are applied together into at most two renders', async () => {
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('burst'));
    const names = Array.from({ length: 50 }, (_, index) => `10-burst-${index}`);
    await observer.pool('burst', (one) => condition(one, 'RenderDegraded')?.status === 'True');
    const before = observer.renderedFor('burst').length;
    const rendersBefore = await metric(controllers.metrics, 'slipway_controllers_renders_total', {
      pool: 'burst',
      outcome: 'created',
    });

    await Promise.all(
      names.map((name) =>
        api.client.create(MACHINE_CONFIGS, aConfig(name, 'burst', [aFile(`/etc/${name}`, name)])),
      ),
    );
    await observer.pool('burst', ({ spec }) => spec.configuration?.source?.length === 50);

    const renders = await metric(controllers.metrics, 'slipway_controllers_renders_total', {
      pool: 'burst',
      outcome: 'created',
    });
    expect(renders - rendersBefore).toBeLessThanOrEqual(2);
    expect(observer.renderedFor('burst').length - before).toBeLessThanOrEqual(2);
  });
});
