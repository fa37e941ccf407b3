import {
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
} from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import { aConfig, aFile, aNode, aPool, createNode, putOn, useControllers } from './fixture';

jest.setTimeout(60_000);

const fixture = useControllers();

const AN_AGE = expect.stringMatching(/^\d+[smh]/) as unknown;
const A_VERSION = expect.stringMatching(/./) as unknown;

it('what the controllers write is printed in the columns of each kind', async () => {
  const { client, printed } = fixture.api;
  await client.create(MACHINE_CONFIGS, aConfig('00-edge', 'edge', [aFile('/etc/edge', 'x')]));
  await client.create(MACHINE_CONFIG_POOLS, aPool('edge'));
  const { spec } = await fixture.observer.pool(
    'edge',
    (pool) => pool.spec.configuration?.name !== undefined,
  );
  const config = spec.configuration?.name ?? '';
  for (const name of ['e1', 'e2', 'e3', 'e4']) await createNode(client, aNode(name, ['edge']));
  for (const name of ['e1', 'e2', 'e3']) await putOn(client, name, config);
  const annotations = {
    [ANNOTATION.CURRENT_CONFIG]: 'rendered-edge-old',
    [ANNOTATION.DESIRED_CONFIG]: config,
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.REASON]: 'disk full',
  };
  await client.patch(NODES, { name: 'e4' }, { metadata: { annotations } });
  // Still updated, but not ready, so that all counts differ.
  await client.patch(NODES, { name: 'e3' }, { spec: { unschedulable: true } });
  await fixture.observer.pool(
    'edge',
    ({ status }) => status?.degradedMachineCount === 1 && status.readyMachineCount === 2,
  );
  const { nodes } = fixture.observer;
  await fixture.observer.until(
    nodes,
    () => nodes.get('e1')?.status?.configVersion?.current === config,
  );

  expect(await printed(MACHINE_CONFIGS, config)).toEqual({
    Name: config,
    GeneratedByController: A_VERSION,
    IgnitionVersion: '3.5.0',
    Age: AN_AGE,
  });
  expect(await printed(MACHINE_CONFIG_POOLS, 'edge')).toEqual({
    Name: 'edge',
    // The config of the whole pool, which has none yet.
    Config: null,
    Updated: 'False',
    Updating: 'True',
    Degraded: 'True',
    MachineCount: 4,
    ReadyMachineCount: 2,
    UpdatedMachineCount: 3,
    DegradedMachineCount: 1,
    Age: AN_AGE,
  });
  expect(await printed(MACHINE_CONFIG_NODES, 'e1')).toMatchObject({
    Name: 'e1',
    PoolName: 'edge',
    DesiredConfig: config,
    CurrentConfig: config,
    Age: AN_AGE,
  });
});
