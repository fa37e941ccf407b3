/** What the roles of deploy/rbac/people.yaml allow those who run the command. */

import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  type KubeObject,
  type Resource,
  SECRETS,
} from '../../../adapters/kube/resources';
import { mayDo, whoAmI } from '../../../adapters/kube/reviews';
import { kubeCluster } from '../../../cli/kube-cluster';
import type { CliCluster, ClusterView } from '../../../cli/ports';
import { firstPayloadKeys } from '../../../controllers/payload-keys';
import { failureName } from '../../../core/errors';
import { NAMESPACE, PAYLOAD_KEYS_SECRET } from '../../../core/names';
import { aConfig, aPool } from '../controllers/fixture';
import { startKubeFixture, type KubeFixture } from '../kube/fixture';
import { until } from '../tools/until';

jest.setTimeout(60_000);

interface Role extends KubeObject {
  readonly rules: readonly {
    readonly resources?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const roles = (plural: string, kind: string): Resource<KubeObject> => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: false,
});
const ROLES = roles('clusterroles', 'ClusterRole') as Resource<Role>;
const BINDINGS = roles('clusterrolebindings', 'ClusterRoleBinding');

const VIEW = 'slipway-view';
const OPERATE = 'slipway-operate';

let fixture: KubeFixture;
const clients: KubeClient[] = [];
const as = new Map<string, CliCluster>();
const clientAs = new Map<string, KubeClient>();

beforeAll(async () => {
  fixture = await startKubeFixture();
  await fixture.admin.create(MACHINE_CONFIGS, aConfig('00-worker', 'worker', []));
  await fixture.admin.create(MACHINE_CONFIG_POOLS, aPool('worker'));
  for (const role of [VIEW, OPERATE]) {
    const user = `person-with-${role}`;
    await fixture.admin.create(BINDINGS, bindingOf(user, role));
    const kubeconfig = await fixture.cluster.kubeconfigFor({ commonName: user });
    const client = await connectKube({ kubeconfig, userAgent: 'slipway-tests', log: fixture.log });
    clients.push(client);
    clientAs.set(role, client);
    as.set(role, kubeCluster(client, fixture.log));
  }
});

afterAll(async () => {
  clients.forEach((client) => client.close());
  await fixture?.stop();
});

function bindingOf(user: string, role: string): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  } as KubeObject;
}

/** `allowed`, or the name of the failure. */
async function outcome(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'allowed',
    (error: unknown) => failureName(error) ?? String(error),
  );
}

const ALLOWED = 'allowed';
const FORBIDDEN = 'ApiForbidden';

it.each<[string, (cluster: CliCluster) => Promise<unknown>, string, string]>([
  ['read what every command shows', (cluster) => cluster.read(), ALLOWED, ALLOWED],
  ['name the pools', (cluster) => cluster.poolNames(), ALLOWED, ALLOWED],
  ['follow it', firstView, ALLOWED, ALLOWED],
  ['read a MachineConfig', (cluster) => cluster.machineConfig('00-worker'), FORBIDDEN, ALLOWED],
  ['read the policies of services', (cluster) => cluster.disruptionPolicy(), FORBIDDEN, ALLOWED],
  ['list pods', (cluster) => cluster.pods(), FORBIDDEN, ALLOWED],
  ['list budgets', (cluster) => cluster.budgets(), FORBIDDEN, ALLOWED],
  ['list DaemonSets', (cluster) => cluster.daemonSets(), FORBIDDEN, ALLOWED],
  [
    'pause a pool',
    (cluster) => cluster.setPaused('worker', true, { reason: 'freeze' }),
    FORBIDDEN,
    ALLOWED,
  ],
  [
    'resume it',
    (cluster) => cluster.setPaused('worker', false, { reason: 'over' }),
    FORBIDDEN,
    ALLOWED,
  ],
  ['list join tokens', (cluster) => cluster.joinTokens.list(), FORBIDDEN, FORBIDDEN],
])('who may %s', async (_what, attempt, ofView, ofOperate) => {
  expect({
    [VIEW]: await outcome(attempt(clusterAs(VIEW))),
    [OPERATE]: await outcome(attempt(clusterAs(OPERATE))),
  }).toEqual({ [VIEW]: ofView, [OPERATE]: ofOperate });
});

it('who may read what is in Temporal', async () => {
  const secret = firstPayloadKeys(NAMESPACE, new Date());
  await fixture.admin.create(SECRETS, secret);
  await fixture.admin.create(SECRETS, { metadata: { namespace: NAMESPACE, name: 'another' } });
  const found: Record<string, readonly string[]> = {};
  for (const [role, client] of clientAs) {
    const person = { username: `person-with-${role}` };
    const access = { group: 'slipway.dev', resource: 'payloads', verb: 'get' };
    const read = (name: string) => outcome(client.get(SECRETS, { namespace: NAMESPACE, name }));
    found[role] = [
      await read(PAYLOAD_KEYS_SECRET),
      await read('another'),
      (await mayDo(fixture.admin, person, access)) ? ALLOWED : FORBIDDEN,
    ];
  }

  expect(found).toEqual({
    [VIEW]: [FORBIDDEN, FORBIDDEN, FORBIDDEN],
    [OPERATE]: [ALLOWED, FORBIDDEN, ALLOWED],
  });
});

it('a person is who the API server says', async () => {
  for (const [role, client] of clientAs) {
    expect(await whoAmI(client)).toMatchObject({ user: `person-with-${role}` });
  }
});

function clusterAs(role: string): CliCluster {
  const cluster = as.get(role);
  if (cluster === undefined) throw new Error(`nobody has the role ${role}`);
  return cluster;
}

async function firstView(cluster: CliCluster): Promise<ClusterView> {
  const views: ClusterView[] = [];
  const shown = new AbortController();
  const onChange = (view: ClusterView): void => {
    views.push(view);
    shown.abort();
  };
  await cluster.follow(onChange, shown.signal);
  const [view] = views;
  if (view === undefined) throw new Error('it ended without a view');
  return view;
}

it('are parts of the roles view and edit of Kubernetes', async () => {
  const allows = async (role: string, resource: string, verb: string): Promise<boolean> => {
    const { rules } = await fixture.admin.get(ROLES, { name: role });
    return rules.some(
      ({ resources = [], verbs }) => resources.includes(resource) && verbs.includes(verb),
    );
  };
  for (const role of ['view', 'edit', 'admin']) {
    await until(() => allows(role, 'poolrollouts', 'watch'), `${role} shows rollouts`);
  }
  for (const role of ['edit', 'admin']) {
    await until(() => allows(role, 'machineconfigpools', 'patch'), `${role} may pause`);
  }
  expect(await allows('view', 'machineconfigs', 'get')).toBe(false);
  expect(await allows('view', 'machineconfigpools', 'patch')).toBe(false);
});
