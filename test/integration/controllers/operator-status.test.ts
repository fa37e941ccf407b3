/** The status of the whole system on a real API server, with the rights of deploy/rbac. */

import { hostReport } from '../../../adapters/kube/host-report';
import {
  CLUSTER_OPERATORS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  PODS,
  SLIPWAYS,
  type KubeObject,
  type Resource,
} from '../../../adapters/kube/resources';
import type { ClusterOperator, OperatorStatus } from '../../../core/operator-status';
import { takeApiServer, type TestApiServer } from '../crds/api-server';
import { createCrds, CRDS, manifests, type Crd } from '../crds/install';
import { until } from '../tools/until';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  createNode,
  Observer,
  putOn,
  startControllers,
  type RunningControllers,
} from './fixture';
import { installRights } from './rights';

jest.setTimeout(120_000);

const PREFIX = 'machineconfiguration.openshift.io';
const KIND = 'slipways.slipway.dev';
/** As strict as openshift/api (config/v1, 113aec1b), without its descriptions. */
const OPENSHIFTS = clusterOperatorCrd();
const WELL = 'A=T P=F D=F U=T';

let api: TestApiServer;
let observer: Observer;
let controllers: RunningControllers;

beforeAll(async () => {
  api = await takeApiServer();
  observer = new Observer(api.client);
  await observer.ready();
  await installRights(api);
  await createCrds(api.client, [OPENSHIFTS]);
  await api.client.delete(CRDS, { name: KIND });
  await until(async () => !(await isKnown()), 'the kind is gone');
  controllers = await startControllers(await api.kubeconfigFor('slipway-controllers'));
}, 300_000);

afterAll(async () => {
  await controllers?.stop();
  observer?.stop();
  await api?.client.delete(CRDS, { name: OPENSHIFTS.metadata.name });
  await api?.stop();
});

async function isKnown(): Promise<boolean> {
  return api.client.list(SLIPWAYS).then(
    () => true,
    () => false,
  );
}

async function status(): Promise<OperatorStatus | undefined> {
  return api.client.get(SLIPWAYS, { name: 'cluster' }).then(
    (found) => found.status,
    () => undefined,
  );
}

async function shown(): Promise<ClusterOperator['status'] | undefined> {
  return api.client.get(CLUSTER_OPERATORS, { name: 'slipway' }).then(
    (found) => found.status,
    () => undefined,
  );
}

/** `A P D U` and their reasons, without what is as expected. */
function told(conditions: OperatorStatus['conditions'] = []): string {
  return ['Available', 'Progressing', 'Degraded', 'Upgradeable']
    .flatMap((type) => conditions.filter((condition) => condition.type === type))
    .map(({ type, status: is, reason }) => {
      const isExpected = reason === 'AsExpected';
      return `${type.slice(0, 1)}=${is.slice(0, 1)}${isExpected ? '' : `:${reason}`}`;
    })
    .join(' ');
}

/** Resolves when both objects say so. */
async function says(expected: string): Promise<OperatorStatus> {
  let last = '';
  await until(async () => {
    const conditions = [(await status())?.conditions, (await shown())?.conditions];
    last = conditions.map(told).join(' | ');
    return last === `${expected} | ${expected}`;
  }, `the status is ${expected}`).catch((error: unknown) => {
    throw new Error(`${String(error)}; last: ${last}`);
  });
  return (await status()) as OperatorStatus;
}

let changes = 0;
/** @returns the new rendered config of the pool */
async function change(pool: string): Promise<string> {
  changes += 1;
  const before = observer.pools.get(pool)?.spec.configuration?.name;
  const name = `50-change-${changes}`;
  await api.client.create(MACHINE_CONFIGS, aConfig(name, pool, [aFile(`/etc/${name}`, name)]));
  const after = await observer.pool(
    pool,
    ({ spec: { configuration } }) =>
      configuration?.name !== undefined && configuration.name !== before,
  );
  return after.spec.configuration?.name ?? '';
}

it('begins when its kind is served, and keeps nothing else back until then', async () => {
  for (const [name, role] of [
    ['m1', 'master'],
    ['w1', 'worker'],
    ['w2', 'worker'],
  ] as const) {
    await createNode(api.client, aNode(name, [role]));
  }
  const required = { 'operator.machineconfiguration.openshift.io/required-for-upgrade': '' };
  const master = aPool('master');
  await api.client.create(MACHINE_CONFIG_POOLS, {
    ...master,
    metadata: { ...master.metadata, labels: required },
  });
  await api.client.create(MACHINE_CONFIG_POOLS, aPool('worker'));
  await putOn(api.client, 'm1', await change('master'));
  const config = await change('worker');
  for (const name of ['w1', 'w2']) await putOn(api.client, name, config);
  await observer.pool('worker', ({ status: is }) => is?.updatedMachineCount === 2);
  expect(controllers.lines.join('\n')).toContain(
    'kind is not served; waiting for its CustomResourceDefinition',
  );

  const crds = await manifests<Crd>('crds');
  await createCrds(
    api.client,
    crds.filter(({ metadata }) => metadata.name === KIND),
  );

  const { pools } = await says(WELL);
  expect(Object.keys(pools)).toEqual(['master', 'worker']);
  expect(await api.printed(SLIPWAYS, 'cluster')).toMatchObject({
    ...{ Available: 'True', Progressing: 'False', Degraded: 'False', Upgradeable: 'True' },
    Message: 'all is as expected',
  });
  expect((await shown())?.extension).toMatchObject(pools);
});

it('progresses during a rollout', async () => {
  const config = await change('worker');
  await says('A=T P=T:PoolUpdating D=F U=F:PoolUpdating');
  await putOn(api.client, 'w1', config);
  await until(
    async () => (await status())?.message === 'pool worker has 1 of 2 nodes updated',
    'one is updated',
  );
  await putOn(api.client, 'w2', config);

  await says(WELL);
});

it('is degraded while a node has failed, with an Event on both objects', async () => {
  const annotate = (state: string, reason: string) =>
    api.client.patch(
      NODES,
      { name: 'w1' },
      { metadata: { annotations: { [`${PREFIX}/state`]: state, [`${PREFIX}/reason`]: reason } } },
    );
  await annotate('Degraded', 'disk full');

  const { message } = await says('A=T P=T:PoolUpdating D=T:RequiredPoolsFailed U=F:DegradedPool');
  expect(message).toBe('pool worker is degraded: Node w1 is reporting: "disk full"');
  const kinds = () =>
    observer.events
      .list()
      .filter(({ reason }) => reason === 'OperatorDegraded: RequiredPoolsFailed')
      .map((event) => (event as { involvedObject?: { kind?: string } }).involvedObject?.kind)
      .sort();
  await observer.until(observer.events, () => kinds().length === 2);
  expect(kinds()).toEqual(['ClusterOperator', 'Slipway']);

  await annotate('Done', '');
  await says(WELL);
});

it('is not upgradeable while a required pool is behind', async () => {
  const pause = (paused: boolean) =>
    api.client.patch(MACHINE_CONFIG_POOLS, { name: 'master' }, { spec: { paused } });
  await pause(true);
  const config = await change('master');

  const { message } = await says('A=T P=F D=T:RequiredPoolsFailed U=F:RequiredPoolNotUpdated');
  expect(message).toBe(
    'required pool master has 0 of 1 node updated, and it is paused: slipway rollout resume master',
  );

  await pause(false);
  await says('A=T P=T:PoolUpdating D=F U=F:PoolUpdating');
  await putOn(api.client, 'm1', config);
  await says(WELL);
});

it('counts host workers and processes by their versions', async () => {
  const reported = async (name: string, version: string) => {
    const drifted = {
      ...({ type: 'Drifted', status: 'False', reason: 'AsExpected', message: '' } as const),
      lastTransitionTime: '2030-01-01T00:00:00Z',
    };
    const drift = { config: 'x', count: 0, findings: [], repairs: [], forced: false };
    const conditions = [drifted, hostReport({ drift, hostWorker: { version } }, drifted)];
    await api.client.apply(
      MACHINE_CONFIG_NODES,
      { metadata: { name }, status: { conditions } },
      { fieldManager: 'slipway-server', subresource: 'status' },
    );
  };
  await reported('w1', '0.2.0');
  await reported('w2', '0.2.0');
  await createPod('server', 'registry.example.com:5000/slipway:0.1.9');

  await until(async () => (await status())?.hostWorkers.reported === 2, 'two have reported');
  await until(async () => ((await status())?.components.length ?? 0) > 0, 'a pod is seen');
  const { hostWorkers, components, versions } = (await status()) as OperatorStatus;
  expect(hostWorkers).toEqual({
    ...{ reported: 2, neverReported: 1 },
    versions: [{ version: '0.2.0', hosts: 2 }],
  });
  expect(components.map(({ name, ready }) => `${name} ${ready}`)).toEqual([
    'cluster-worker 0',
    'controllers 0',
    'server 1',
  ]);
  expect(versions).toEqual(
    expect.arrayContaining([
      { name: 'server', version: '0.1.9' },
      { name: 'host-worker', version: '0.2.0' },
    ]),
  );
});

async function createPod(process: string, image: string): Promise<void> {
  const labels = {
    'app.kubernetes.io/name': `slipway-${process}`,
    'app.kubernetes.io/part-of': 'slipway',
  };
  const key = { name: `slipway-${process}-1`, namespace: 'slipway' };
  const pods: Resource<KubeObject & { readonly spec?: object }> = PODS;
  await api.client.create(pods, {
    metadata: { ...key, labels },
    spec: {
      ...{ serviceAccountName: `slipway-${process}`, automountServiceAccountToken: false },
      containers: [{ name: process, image }],
    },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  await api.client.patch(
    pods,
    { ...key, subresource: 'status' },
    { status: { phase: 'Running', conditions } },
  );
}

it('comes back when a person deletes it, and follows what is written to it', async () => {
  const { metadata } = await api.client.get(SLIPWAYS, { name: 'cluster' });
  await api.client.delete(SLIPWAYS, { name: 'cluster' });
  await until(async () => {
    const again = await api.client.get(SLIPWAYS, { name: 'cluster' }).catch(() => undefined);
    return again !== undefined && again.metadata.uid !== metadata.uid && again.status !== undefined;
  }, 'there is another one');

  const key = { name: 'slipway', subresource: 'status' };
  await api.client.patch(CLUSTER_OPERATORS, key, { status: { extension: { worker: 'wrong' } } });
  await says(WELL);
  await until(
    async () => (await shown())?.extension?.['worker']?.startsWith('2 of 2') === true,
    'it is right again',
  );
});

it('says which right it lacks, and writes the other object', async () => {
  const roles: Resource<KubeObject & { readonly rules?: readonly Rule[] }> = {
    ...{ group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles' },
    ...{ kind: 'ClusterRole', namespaced: false },
  };
  const name = 'slipway-controllers';
  const { rules = [] } = await api.client.get(roles, { name });
  const fewer = rules.filter(({ resources }) => !resources.includes('slipways/status'));
  expect(fewer).toHaveLength(rules.length - 1);
  await api.client.patch(roles, { name }, { rules: fewer });
  const config = await change('worker');

  const refusal = /slipways.*cluster.*is forbidden/;
  await until(async () => controllers.lines.some((line) => refusal.test(line)), 'it is in the log');
  await until(
    async () => told((await shown())?.conditions).includes('PoolUpdating'),
    'the ClusterOperator says it',
  );

  await api.client.patch(roles, { name }, { rules });
  for (const node of ['w1', 'w2']) await putOn(api.client, node, config);
  await says(WELL);
  const refused = controllers.lines.filter((line) => line.includes('is forbidden'));
  expect(refused.filter((line) => !refusal.test(line))).toEqual([]);
});

interface Rule {
  readonly resources: readonly string[];
}

function clusterOperatorCrd(): Crd {
  const text = { type: 'string' };
  const list = (required: readonly string[], properties: object, key?: string) => ({
    type: 'array',
    items: { type: 'object', required, properties },
    ...(key === undefined
      ? {}
      : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] }),
  });
  const time = { type: 'string', format: 'date-time' };
  const status = {
    type: 'object',
    properties: {
      conditions: list(
        ['lastTransitionTime', 'status', 'type'],
        { type: text, status: text, reason: text, message: text, lastTransitionTime: time },
        'type',
      ),
      versions: list(['name', 'version'], { name: text, version: text }, 'name'),
      relatedObjects: list(['group', 'name', 'resource'], {
        ...{ group: text, resource: text, name: text, namespace: text },
      }),
      extension: {
        ...{ type: 'object', nullable: true, 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  };
  const { group, plural, kind } = CLUSTER_OPERATORS;
  const names = { kind, listKind: `${kind}List`, plural, singular: 'clusteroperator' };
  const properties = { spec: { type: 'object' }, status };
  const schema = { openAPIV3Schema: { type: 'object', required: ['spec'], properties } };
  const v1 = { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Cluster', names, versions: [v1] },
  } as Crd;
}
