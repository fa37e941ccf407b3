import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES } from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import { until } from '../tools/until';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  condition,
  createNode,
  FakeRollouts,
  putOn,
  useControllers,
} from './fixture';
import { installRights } from './rights';

jest.setTimeout(60_000);

const rollouts = new FakeRollouts();

const fixture = useControllers(async (api) => {
  await installRights(api);
  return {
    kubeconfig: await api.kubeconfigFor('slipway-controllers'),
    gateway: rollouts,
    flags: { keepRendered: 0 },
  };
});

it('the rights in deploy/rbac are enough for everything that the controllers do', async () => {
  await createNode(fixture.api.client, aNode('w1', ['worker']));
  await fixture.api.client.create(
    MACHINE_CONFIGS,
    aConfig('00-worker', 'worker', [aFile('/etc/a', 'a')]),
  );
  await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool('worker'));
  const first = await fixture.observer.pool(
    'worker',
    ({ spec }) => spec.configuration?.name !== undefined,
  );
  await fixture.observer.pool('worker', (pool) => condition(pool, 'Updating')?.status === 'True');
  await fixture.observer.until(
    fixture.observer.nodes,
    () => fixture.observer.nodes.get('w1') !== undefined,
  );
  await fixture.observer.until(
    fixture.observer.events,
    () => fixture.observer.events.list().length >= 2,
  );
  await rollouts.until((asked) => asked === 'wake worker');

  await fixture.api.client.create(
    MACHINE_CONFIGS,
    aConfig('50-more', 'worker', [aFile('/etc/b', 'b')]),
  );
  const old = first.spec.configuration?.name;
  const second = await fixture.observer.pool(
    'worker',
    ({ spec }) => spec.configuration?.name !== old,
  );
  await putOn(fixture.api.client, 'w1', second.spec.configuration?.name ?? '');
  await fixture.observer.pool('worker', (pool) => condition(pool, 'Updated')?.status === 'True');
  await fixture.observer.until(fixture.observer.nodes, () => {
    const shown = fixture.observer.nodes.get('w1');
    const isUpdated = shown?.status?.conditions?.some(
      ({ type, status }) => type === 'Updated' && status === 'True',
    );
    return (
      isUpdated === true && shown?.spec.configVersion.desired === second.spec.configuration?.name
    );
  });
  await fixture.observer.until(
    fixture.observer.configs,
    () => fixture.observer.renderedFor('worker').length === 1,
  );
  await fixture.api.client.patch(
    NODES,
    { name: 'w1' },
    { metadata: { annotations: { [ANNOTATION.CORDONED_BY]: 'update-node/w1' } } },
  );
  await until(async () => {
    const { metadata } = await fixture.api.client.get(NODES, { name: 'w1' });
    return metadata.annotations?.[ANNOTATION.CORDONED_BY] === undefined;
  }, 'the mark of a cordon that is gone is cleared');
  await fixture.api.client.delete(NODES, { name: 'w1' });
  await fixture.observer.pool('worker', ({ status }) => status?.machineCount === 0);

  // MachineConfigNodes may also be left to the garbage collector, which is logged at level debug.
  const complaints = fixture.controllers.lines.filter((line) => !line.includes('"level":20'));
  expect(complaints.filter((line) => line.includes('is forbidden'))).toEqual([]);
});
