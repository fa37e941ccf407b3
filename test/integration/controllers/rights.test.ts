import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  type KubeObject,
} from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import { until } from '../tools/until';
import { manifests, startApiServer, type TestApiServer } from '../crds/api-server';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  condition,
  createNode,
  FakeRollouts,
  Observer,
  putOn,
  startControllers,
  type RunningControllers,
} from './bench';

jest.setTimeout(60_000);

let api: TestApiServer;
let observer: Observer;
let controllers: RunningControllers;
const rollouts = new FakeRollouts();

const PATHS: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  ServiceAccount: '/api/v1/namespaces/NS/serviceaccounts',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
};

beforeAll(async () => {
  api = await startApiServer();
  observer = new Observer(api.client);
  await observer.ready();
  for (const object of await manifests<KubeObject>('rbac')) {
    const path = PATHS[object.kind ?? '']?.replace('NS', object.metadata.namespace ?? '');
    const answer = await api.client.post(path ?? '', object, `create ${object.metadata.name}`);
    expect({ name: object.metadata.name, answer }).toMatchObject({ answer: { ok: true } });
  }
  const kubeconfig = await api.kubeconfigFor('slipway-controllers');
  controllers = await startControllers(kubeconfig, {
    gateway: rollouts,
    flags: { keepRendered: 0 },
  });
}, 300_000);

afterAll(async () => {
  await controllers.stop();
  observer.stop();
  await api.stop();
});

it('the rights in deploy/rbac are enough for everything that the controllers do', async () => {
  await createNode(api.client, aNode('w1', ['worker']));
  await api.client.create(MACHINE_CONFIGS, aConfig('00-worker', 'worker', [aFile('/etc/a', 'a')]));
  await api.client.create(MACHINE_CONFIG_POOLS, aPool('worker'));
  const first = await observer.pool('worker', ({ spec }) => spec.configuration?.name !== undefined);
  await observer.pool('worker', (pool) => condition(pool, 'Updating')?.status === 'True');
  await observer.until(observer.nodes, () => observer.nodes.get('w1') !== undefined);
  await observer.until(observer.events, () => observer.events.list().length >= 2);
  await rollouts.until((asked) => asked.startsWith('retarget worker '));

  await api.client.create(MACHINE_CONFIGS, aConfig('50-more', 'worker', [aFile('/etc/b', 'b')]));
  const old = first.spec.configuration?.name;
  const second = await observer.pool('worker', ({ spec }) => spec.configuration?.name !== old);
  await putOn(api.client, 'w1', second.spec.configuration?.name ?? '');
  await observer.pool('worker', (pool) => condition(pool, 'Updated')?.status === 'True');
  await observer.until(observer.configs, () => observer.renderedFor('worker').length === 1);
  await api.client.patch(
    NODES,
    { name: 'w1' },
    { metadata: { annotations: { [ANNOTATION.CORDONED_BY]: 'update-node/w1' } } },
  );
  await until(async () => {
    const { metadata } = await api.client.get(NODES, { name: 'w1' });
    return metadata.annotations?.[ANNOTATION.CORDONED_BY] === undefined;
  }, 'the mark of a cordon that is gone is cleared');
  await api.client.delete(NODES, { name: 'w1' });
  await observer.pool('worker', ({ status }) => status?.machineCount === 0);

  // MachineConfigNodes may also be left to the garbage collector, which is said at level debug.
  const complaints = controllers.lines.filter((line) => !line.includes('"level":20'));
  expect(complaints.filter((line) => line.includes('is forbidden'))).toEqual([]);
});
