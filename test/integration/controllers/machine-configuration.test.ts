/** The status of the MachineConfiguration on a real API server, with the rights of deploy/rbac. */

import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
} from '../../../adapters/kube/resources';
import { WatchCache } from '../../../adapters/kube/cache';
import type { CacheEvent } from '../../../adapters/kube/cache';
import {
  DEFAULT_DISRUPTION_POLICIES,
  mergeDisruptionPolicies,
  policyInForce,
  type MachineConfiguration,
  type PolicyStatus,
} from '../../../core/disruption';
import { QUIET, takeApiServer, type TestApiServer } from '../crds/api-server';
import { createCrds, CRDS, manifests, type Crd } from '../crds/install';
import { writeWithoutRules } from '../crds/without-rules';
import { until } from '../tools/until';
import { aConfig, aPool, Observer, startControllers, type RunningControllers } from './fixture';
import { installRights } from './rights';

jest.setTimeout(120_000);

const KIND = 'machineconfigurations.operator.openshift.io';
const key = { name: 'cluster' };
const none = [{ type: 'None' }];
const restart = (serviceName: string) => [{ type: 'Restart', restart: { serviceName } }];

let api: TestApiServer;
let observer: Observer;
let controllers: RunningControllers;
const watching = new AbortController();
let seen: CacheEvent<MachineConfiguration>[];

beforeAll(async () => {
  api = await takeApiServer();
  observer = new Observer(api.client);
  await observer.ready();
  await installRights(api);
}, 300_000);

afterAll(async () => {
  watching.abort();
  await controllers?.stop();
  observer?.stop();
  await api?.stop();
});

async function start(): Promise<RunningControllers> {
  return startControllers(await api.kubeconfigFor('slipway-controllers'));
}

it('a cluster that does not know the kind has everything else', async () => {
  await api.client.delete(CRDS, { name: KIND });
  await until(async () => !(await isKnown()), 'the kind is gone');
  const running = await start();
  try {
    await api.client.create(MACHINE_CONFIGS, aConfig('00-worker', 'worker'));
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('worker'));
    await observer.pool('worker', ({ spec }) => spec.configuration?.name !== undefined);
    await observer.pool('worker', ({ status }) => status?.machineCount === 0);
  } finally {
    await running.stop();
    const crds = await manifests<Crd>('crds');
    await createCrds(
      api.client,
      crds.filter(({ metadata }) => metadata.name === KIND),
    );
  }
});

async function isKnown(): Promise<boolean> {
  return api.client.list(MACHINE_CONFIGURATIONS).then(
    () => true,
    () => false,
  );
}

describe('the status', () => {
  beforeAll(async () => {
    const cache = new WatchCache({ resource: MACHINE_CONFIGURATIONS, log: QUIET });
    void cache.run(api.client, watching.signal);
    await cache.synced;
    seen = [];
    cache.subscribe((event) => seen.push(event));
    controllers = await start();
  });

  const own = {
    files: [
      { path: '/etc/chrony.conf', actions: restart('chronyd.service') },
      { path: '/etc/containers/policy.json', actions: [{ type: 'Reboot' }] },
    ],
    sshkey: { actions: [{ type: 'Drain' }] },
  };

  const stored = () => api.client.get(MACHINE_CONFIGURATIONS, key);
  const statusOf = ({ status }: MachineConfiguration) => (status ?? {}) as Partial<PolicyStatus>;
  const conditionIn = (object: MachineConfiguration) =>
    statusOf(object).conditions?.find(({ type }) => type === 'NodeDisruptionPolicyDegraded');

  /** The object when its spec was seen. */
  async function whenSeen(): Promise<MachineConfiguration> {
    await until(async () => {
      const object = await stored();
      return statusOf(object).observedGeneration === object.metadata.generation;
    }, 'the status is of this generation');
    return stored();
  }

  async function apply(nodeDisruptionPolicy: object): Promise<void> {
    const applied = { metadata: key, spec: { nodeDisruptionPolicy } };
    await api.client.apply(MACHINE_CONFIGURATIONS, applied, { fieldManager: 'a-person' });
  }

  const policiesIn = (object: MachineConfiguration) =>
    statusOf(object).nodeDisruptionPolicyStatus?.clusterPolicies;

  it('is there with the defaults before a person makes the object', async () => {
    await until(
      async () => seen.some(({ object }) => policiesIn(object) !== undefined),
      'the object is made',
    );
    expect(policiesIn(await whenSeen())).toEqual(DEFAULT_DISRUPTION_POLICIES);
  });

  it('has the defaults, merged with those of a person', async () => {
    await api.client.patch(MACHINE_CONFIGURATIONS, key, { spec: { nodeDisruptionPolicy: own } });

    const object = await whenSeen();
    const { policy } = policyInForce({ metadata: key, spec: object.spec });
    const merged: unknown = JSON.parse(
      JSON.stringify(mergeDisruptionPolicies(policy), withoutField),
    );
    expect(statusOf(object).nodeDisruptionPolicyStatus?.clusterPolicies).toEqual(merged);
    expect(merged).toMatchObject({ sshkey: own.sshkey });
    expect(conditionIn(object)).toMatchObject({ status: 'False', reason: 'AsExpected' });
    expect(await api.printed(MACHINE_CONFIGURATIONS, 'cluster')).toMatchObject({
      Degraded: 'False',
    });
  });

  const withoutField = (name: string, value: unknown): unknown =>
    name === 'field' ? undefined : value;

  it('follows each change with one write, and has none for what is not in its spec', async () => {
    const before = seen.length;
    await api.client.patch(MACHINE_CONFIGURATIONS, key, { spec: { nodeDisruptionPolicy: null } });
    const { files } = DEFAULT_DISRUPTION_POLICIES;
    const object = await whenSeen();
    const shown = statusOf(object).nodeDisruptionPolicyStatus?.clusterPolicies.files ?? [];
    expect(pathsOf(shown)).toEqual(pathsOf(files));

    await api.client.patch(MACHINE_CONFIGURATIONS, key, { metadata: { labels: { a: 'b' } } });
    await api.client.patch(MACHINE_CONFIGURATIONS, key, { spec: { nodeDisruptionPolicy: own } });
    await whenSeen();

    // A change of spec and its answer, the label, a change of spec and its answer.
    await until(async () => seen.length >= before + 5, 'five changes');
    expect(seen.slice(before).map((event) => changed(event))).toEqual([
      'spec',
      'status',
      'metadata',
      'spec',
      'status',
    ]);
  });

  const pathsOf = (files: readonly { readonly path: string }[]) =>
    files.map(({ path }) => path).sort();

  function changed(event: CacheEvent<MachineConfiguration>): string {
    if (event.type !== 'modified') return event.type;
    const differs = (field: 'spec' | 'status'): boolean =>
      JSON.stringify(event.object[field]) !== JSON.stringify(event.previous[field]);
    return differs('spec') ? 'spec' : differs('status') ? 'status' : 'metadata';
  }

  it('keeps what others write beside it', async () => {
    const theirs = { type: 'BootImageUpdateDegraded', status: 'False', reason: 'a', message: '' };
    const lastTransitionTime = '2030-01-01T00:00:00Z';
    await api.client.apply(
      MACHINE_CONFIGURATIONS,
      {
        metadata: key,
        status: { conditions: [{ ...theirs, lastTransitionTime }], managedBootImagesStatus: {} },
      },
      { fieldManager: 'another', subresource: 'status' },
    );
    await apply({ units: [{ name: 'a.service', actions: none }] });

    const object = await whenSeen();
    expect(statusOf(object).conditions).toEqual(
      expect.arrayContaining([expect.objectContaining(theirs)]),
    );
    expect(object.status).toHaveProperty('managedBootImagesStatus');
    expect(statusOf(object).nodeDisruptionPolicyStatus?.clusterPolicies.units).toContainEqual({
      name: 'a.service',
      actions: none,
    });
  });

  it('is written again when a person has changed it', async () => {
    const wanted = statusOf(await stored()).nodeDisruptionPolicyStatus?.clusterPolicies;
    await api.client.patch(
      MACHINE_CONFIGURATIONS,
      { ...key, subresource: 'status' },
      {
        status: { nodeDisruptionPolicyStatus: { clusterPolicies: { sshkey: { actions: none } } } },
      },
    );
    await api.client.patch(
      MACHINE_CONFIGURATIONS,
      { ...key, subresource: 'status' },
      { status: { nodeDisruptionPolicyStatus: { clusterPolicies: { files: null } } } },
    );

    await until(async () => {
      const { clusterPolicies } = statusOf(await stored()).nodeDisruptionPolicyStatus ?? {};
      return clusterPolicies?.files?.length === wanted?.files.length;
    }, 'it has the policies again');
    expect(statusOf(await stored()).nodeDisruptionPolicyStatus?.clusterPolicies).toEqual(wanted);
  });

  it.each<[string, object, string]>([
    [
      'a relative path',
      { files: [{ path: 'etc/a', actions: none }] },
      'spec.nodeDisruptionPolicy.files[0].path: path must be absolute; begin it with /',
    ],
    [
      'a restart of the host worker',
      { units: [{ name: 'b.service', actions: restart('slipway-host.service') }] },
      'spec.nodeDisruptionPolicy.units[0].actions[0].restart.serviceName: a host cannot restart or reload its own worker in the middle of an update; use a Reboot action, which starts it again, too',
    ],
    [
      'an entry without actions',
      { files: [{ path: '/etc/a', actions: [] }] },
      'spec.nodeDisruptionPolicy.files[0].actions: actions must not be empty; write {type: None} where a change costs nothing, or remove the entry',
    ],
  ])('names %s that was admitted, and keeps the policies', async (_what, wrong, message) => {
    const good = { files: own.files };
    await apply(good);
    const before = statusOf(await whenSeen());

    await writeWithoutRules(api.client, KIND, () =>
      api.client.patch(MACHINE_CONFIGURATIONS, key, {
        spec: { nodeDisruptionPolicy: { files: null, units: null, ...wrong } },
      }),
    );
    const bad = await whenSeen();
    expect(conditionIn(bad)).toMatchObject({
      ...{ status: 'True', reason: 'InvalidPolicy' },
      message: `MachineConfiguration cluster: ${message}; until then the last valid policies are in force, which its status shows`,
    });
    expect(statusOf(bad).nodeDisruptionPolicyStatus).toEqual(before.nodeDisruptionPolicyStatus);
    const inForce = policyInForce(bad).policy.files?.map(({ path }) => path);
    expect(pathsOf((inForce ?? []).map((path) => ({ path })))).toEqual(pathsOf(good.files));

    await api.client.patch(MACHINE_CONFIGURATIONS, key, {
      spec: { nodeDisruptionPolicy: { units: null, ...good } },
    });
    expect(conditionIn(await whenSeen())).toMatchObject({ status: 'False' });
  });

  it('is complete again after the object was deleted', async () => {
    const { uid } = (await stored()).metadata;
    await api.client.delete(MACHINE_CONFIGURATIONS, key);
    // A cache whose watch has just ended may show one object with the other's name.
    await until(async () => {
      const { items } = await api.client.list(MACHINE_CONFIGURATIONS);
      return items.some(({ metadata }) => metadata.uid !== uid);
    }, 'the object is made again');

    expect(policiesIn(await whenSeen())).toEqual(DEFAULT_DISRUPTION_POLICIES);
  });

  it('needs no more rights than deploy/rbac gives', () => {
    expect(controllers.lines.filter((line) => line.includes('is forbidden'))).toEqual([]);
  });
});
