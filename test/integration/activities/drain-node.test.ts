import { failureName } from '../../../core/errors';
import { PODS } from '../../../adapters/kube/resources';
import { WatchCache } from '../../../adapters/kube/cache';
import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import type { Pod } from '../../../core/drain';
import {
  applyManifest,
  eventually,
  inCache,
  startCaches,
  startKubeFixture,
  type KubeFixture,
  type RunningCaches,
} from '../kube/fixture';
import {
  activitiesFor,
  aWorker,
  aWorkload,
  DRAIN,
  playedRun,
  stepFor,
  takeOut,
  theWorkerPool,
} from './activities-fixture';

jest.setTimeout(240_000);

const RUN = { id: 'run-1', startedAt: '2026-01-01T00:00:00.000Z' };

let fixture: KubeFixture;
let running: RunningCaches;
let caches: ClusterCaches;
const pods = new WatchCache<Pod>({
  resource: PODS,
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
});
const watching = new AbortController();

function quiet(): void {
  return undefined;
}

beforeAll(async () => {
  fixture = await startKubeFixture();
  running = await startCaches(fixture.worker, fixture.log);
  caches = running.caches;
  await theWorkerPool(fixture, caches);
  void pods.run(fixture.admin, watching.signal);
  await pods.synced;
});

afterAll(async () => {
  watching.abort();
  await running?.stop();
  await fixture?.stop();
});

const onNode = (node: string): readonly Pod[] =>
  pods.list().filter(({ spec }) => spec?.nodeName === node);

async function cordoned(node: string, config = 'rendered-worker-1'): Promise<void> {
  await takeOut(fixture, caches, { ...stepFor(node, config), run: RUN });
}

async function runningOn(node: string, count: number): Promise<void> {
  await eventually(() => {
    const ready = onNode(node).filter(({ status }) => status?.phase === 'Running');
    expect(ready).toHaveLength(count);
  });
}

const input = (node: string, drain: object = DRAIN) => ({
  ...stepFor(node, 'rendered-worker-1'),
  run: RUN,
  drain: { ...DRAIN, ...drain },
  startedAt: new Date().toISOString(),
});

it('does not take a cordon that its own cache does not show yet for a lifted one', async () => {
  await aWorker(fixture, 'behind');
  await inCache(caches.nodes, 'behind', () => true);
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await cordoned('behind');

  const drained = activitiesFor(fixture, stale.caches).drainNode(input('behind'));

  await expect(drained).resolves.toMatchObject({ evicted: 0 });
});

it('evicts what can go, leaves DaemonSet and mirror pods, and counts recreated pods as gone', async () => {
  await aWorker(fixture, 'plain');
  await aWorkload(fixture, { name: 'shop', node: 'plain', replicas: 3 });
  await applyManifest(fixture.admin, {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: {
        metadata: { labels: { app: 'agent' } },
        spec: { nodeSelector: { pool: 'plain' }, containers: [{ name: 'c', image: 'none' }] },
      },
    },
  });
  await runningOn('plain', 4);
  await eventually(() => expect(caches.daemonSets.get('agent', 'default')).toBeDefined());
  const before = onNode('plain').map(({ metadata }) => metadata.uid);
  await cordoned('plain');

  const result = await activitiesFor(fixture, caches).drainNode(input('plain'));

  expect(result).toEqual({ evicted: 3, left: 1 });
  const { items } = await fixture.admin.list(PODS, { fieldSelector: 'spec.nodeName=plain' });
  expect(items.map(({ metadata }) => metadata.labels?.['app'])).toEqual(['agent']);
  // The ReplicaSet has made new pods, which wait for a node.
  await eventually(() => {
    const replaced = pods.list().filter(({ metadata }) => metadata.labels?.['app'] === 'shop');
    expect(replaced.filter(({ metadata }) => !before.includes(metadata.uid))).toHaveLength(3);
  });
});

it('counts a pod that came back under its own name on another node as gone', async () => {
  await aWorker(fixture, 'origin');
  await aWorker(fixture, 'refuge');
  await applyManifest(fixture.admin, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'store', namespace: 'default' },
    spec: {
      replicas: 1,
      serviceName: 'store',
      selector: { matchLabels: { app: 'store' } },
      template: {
        metadata: { labels: { app: 'store' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  {
                    matchExpressions: [
                      { key: 'pool', operator: 'In', values: ['origin', 'refuge'] },
                    ],
                  },
                ],
              },
            },
          },
          containers: [{ name: 'c', image: 'none' }],
        },
      },
    },
  });
  const first = await inCache(
    pods,
    'store-0',
    ({ status, spec }) => status?.phase === 'Running' && spec?.nodeName !== undefined,
    'default',
  );
  const node = first.spec?.nodeName ?? '';
  await cordoned(node);

  await activitiesFor(fixture, caches).drainNode(input(node));

  const second = await inCache(
    pods,
    'store-0',
    ({ metadata }) => metadata.uid !== first.metadata.uid,
    'default',
  );
  expect(second.metadata.name).toBe('store-0');
});

it('names the budget that refuses, and goes on as soon as it allows', async () => {
  await aWorker(fixture, 'guarded');
  await aWorkload(fixture, { name: 'cart', node: 'guarded', replicas: 1, minAvailable: 1 });
  await runningOn('guarded', 1);
  await cordoned('guarded');
  const [pod] = onNode('guarded');
  const run = playedRun();
  const draining = activitiesFor(fixture, caches, run).drainNode(input('guarded'));

  const progress = await run.heartbeatWith(
    ({ remaining }) => remaining[0]?.blocker.includes('allows 0 disruptions') === true,
  );

  expect(progress.remainingCount).toBe(1);
  expect(progress.remaining[0]?.blocker).toBe(
    `waiting for pod default/${pod?.metadata.name} ` +
      '(budget default/cart allows 0 disruptions; owner Deployment default/cart)',
  );
  expect(onNode('guarded').map(({ metadata }) => metadata.uid)).toEqual([pod?.metadata.uid]);

  await applyManifest(fixture.admin, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'cart', namespace: 'default' },
    spec: { minAvailable: 0, selector: { matchLabels: { app: 'cart' } } },
  });
  await expect(draining).resolves.toEqual({ evicted: 1, left: 0 });
});

it('waits for an admission policy that denies an eviction as for a budget, and names it', async () => {
  await aWorker(fixture, 'policed');
  await aWorkload(fixture, { name: 'policed', node: 'policed', replicas: 1 });
  await runningOn('policed', 1);
  const [pod] = onNode('policed');
  const { lift } = await denyEvictionsOf('policed');
  await cordoned('policed');
  const run = playedRun();
  const draining = activitiesFor(fixture, caches, run).drainNode(input('policed'));

  const progress = await run.heartbeatWith(
    ({ remaining }) => remaining[0]?.blocker.includes('open until six') === true,
  );

  expect(progress.remaining[0]?.blocker).toMatch(
    /^waiting for pod default\/policed-\S+ \(.*ValidatingAdmissionPolicy 'policed'.*open until six\)$/,
  );
  expect(onNode('policed').map(({ metadata }) => metadata.uid)).toEqual([pod?.metadata.uid]);

  await lift();
  await expect(draining).resolves.toEqual({ evicted: 1, left: 0 });
});

/** An admission policy; it is in force when this returns. */
async function denyEvictionsOf(app: string): Promise<{ lift(): Promise<void> }> {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: app };
  await applyManifest(fixture.admin, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['pods/eviction'],
          },
        ],
      },
      matchConditions: [{ name: 'app', expression: `request.name.startsWith('${app}-')` }],
      validations: [{ expression: 'false', message: 'open until six' }],
    },
  });
  await applyManifest(fixture.admin, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: app, validationActions: ['Deny'] },
  });
  const pod = onNode(app)[0]?.metadata.name;
  await eventually(async () => {
    const asked = await fixture.admin.post(
      `/api/v1/namespaces/default/pods/${pod}/eviction`,
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod, namespace: 'default' },
        deleteOptions: { dryRun: ['All'] },
      },
      'try an eviction',
    );
    expect(asked.ok).toBe(false);
  });
  const bindings = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'validatingadmissionpolicybindings',
    kind: 'ValidatingAdmissionPolicyBinding',
    namespaced: false,
  };
  return { lift: async () => fixture.admin.delete(bindings, metadata) };
}

it('gives up after its time, naming pod and budget', async () => {
  await aWorker(fixture, 'stuck');
  await aWorkload(fixture, { name: 'stuck', node: 'stuck', replicas: 1, minAvailable: 1 });
  await runningOn('stuck', 1);
  await eventually(() =>
    expect(caches.budgets.get('stuck', 'default')?.status?.expectedPods).toBe(1),
  );
  await cordoned('stuck');

  const draining = activitiesFor(fixture, caches).drainNode(input('stuck', { timeoutSeconds: 2 }));

  await expect(draining).rejects.toMatchObject({
    name: 'DrainTimedOut',
    message: expect.stringMatching(
      /node stuck was not drained within 2 s: waiting for pod default\/stuck-.* \(budget default\/stuck allows 0 disruptions; owner Deployment default\/stuck\)/,
    ) as string,
  });
  expect(onNode('stuck')).toHaveLength(1);
});

it('stops at once when it is cancelled, and evicts nothing more', async () => {
  await aWorker(fixture, 'cancelled');
  await aWorkload(fixture, { name: 'held', node: 'cancelled', replicas: 2, minAvailable: 2 });
  await runningOn('cancelled', 2);
  await cordoned('cancelled');
  const run = playedRun();
  const draining = activitiesFor(fixture, caches, run).drainNode(input('cancelled'));
  await run.heartbeatWith(({ remainingCount }) => remainingCount === 2);

  run.cancel();

  await expect(draining).rejects.toMatchObject({ name: 'CancelledFailure' });
  const beats = run.heartbeats.length;
  await applyManifest(fixture.admin, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'held', namespace: 'default' },
    spec: { minAvailable: 0, selector: { matchLabels: { app: 'held' } } },
  });
  await inCache(caches.budgets, 'held', (one) => one.status?.disruptionsAllowed === 2, 'default');
  expect(onNode('cancelled').filter(({ metadata }) => metadata.deletionTimestamp)).toEqual([]);
  expect(run.heartbeats).toHaveLength(beats);
});

it('ends when somebody uncordons the node meanwhile', async () => {
  await aWorker(fixture, 'uncordoned');
  await aWorkload(fixture, { name: 'wanted', node: 'uncordoned', replicas: 1, minAvailable: 1 });
  await runningOn('uncordoned', 1);
  await cordoned('uncordoned');
  const run = playedRun();
  const draining = activitiesFor(fixture, caches, run).drainNode(input('uncordoned'));
  await run.heartbeatWith(({ remainingCount }) => remainingCount === 1);

  // The drain may end before the answer to the PATCH arrives.
  const ended = expect(draining).rejects.toMatchObject({
    name: 'UncordonedByUser',
    message: expect.stringContaining(
      'node uncordoned was uncordoned while it was being drained',
    ) as string,
  });

  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/uncordoned', {
    spec: { unschedulable: null },
  });

  await ended;
});

it('goes on after the API server was away in the middle', async () => {
  await aWorker(fixture, 'outage');
  await aWorkload(fixture, { name: 'late', node: 'outage', replicas: 2, minAvailable: 2 });
  await runningOn('outage', 2);
  await cordoned('outage');
  const run = playedRun();
  const draining = activitiesFor(fixture, caches, run).drainNode(input('outage'));
  await run.heartbeatWith(({ remainingCount }) => remainingCount === 2);

  await fixture.cluster.killApiServer();
  await fixture.cluster.startApiServer();
  await applyManifest(fixture.admin, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'late', namespace: 'default' },
    spec: { minAvailable: 0, selector: { matchLabels: { app: 'late' } } },
  });

  // An API server that has just started may refuse what it allows a moment later: then Temporal tries again.
  const drained = draining.catch((error: unknown) => {
    if (failureName(error) !== 'ApiForbidden') throw error;
    return activitiesFor(fixture, caches).drainNode(input('outage'));
  });
  await expect(drained).resolves.toEqual({ evicted: 2, left: 0 });
});
