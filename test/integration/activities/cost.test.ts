import type { KubeClient } from '../../../adapters/kube/client';
import { ANNOTATION } from '../../../core/names';
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
  giveGrants,
  stepFor,
  takeOutInput,
  theWorkerPool,
} from './activities-fixture';

jest.setTimeout(240_000);

let fixture: KubeFixture;
let running: RunningCaches;

beforeAll(async () => {
  fixture = await startKubeFixture();
  running = await startCaches(fixture.worker, fixture.log);
  await theWorkerPool(fixture, running.caches);
});

afterAll(async () => {
  await running?.stop();
  await fixture?.stop();
});

const WRITES = ['create', 'replace', 'patch', 'apply', 'delete', 'post'];
const READS = ['get', 'list', 'watch'];

function counting(client: KubeClient): { readonly client: KubeClient; readonly calls: string[] } {
  const calls: string[] = [];
  const proxy = new Proxy(client, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function' || typeof property !== 'string') return member;
      return (...args: unknown[]) => {
        calls.push(property);
        return Reflect.apply(member, target, args) as unknown;
      };
    },
  });
  return { client: proxy, calls };
}

/** Its MachineConfigNode, as the node controller makes it. */
async function knownTo(name: string, desired: string): Promise<void> {
  await applyManifest(fixture.admin, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigNode',
    metadata: { name },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired } },
  });
  await inCache(running.caches.machineConfigNodes, name, () => true);
}

it('updates a node with two pods in at most ten writes, five Events and five reads', async () => {
  await aWorker(fixture, 'priced');
  await aWorkload(fixture, { name: 'shop', node: 'priced', replicas: 2 });
  await inCache(running.caches.nodes, 'priced', () => true);
  await eventually(async () => {
    const pods = await fixture.cluster.admin.call<{ items: { status: { phase: string } }[] }>(
      'GET',
      '/api/v1/pods?fieldSelector=spec.nodeName%3Dpriced',
    );
    expect(pods.items.map(({ status }) => status.phase)).toEqual(['Running', 'Running']);
  });
  await knownTo('priced', 'rendered-worker-0');
  const { client, calls } = counting(fixture.worker);
  const activities = activitiesFor({ ...fixture, worker: client }, running.caches);
  const run = { id: 'run-1', startedAt: '2026-01-01T00:00:00.000Z' };
  const step = { ...stepFor('priced', 'rendered-worker-1'), run };

  const taking = activities.takeOutOfService(takeOutInput(step));
  await inCache(running.caches.machineConfigNodes, 'priced', ({ metadata }) =>
    Object.hasOwn(metadata.annotations ?? {}, ANNOTATION.PREPARED),
  );
  await giveGrants(fixture, running.caches, step);
  await taking;
  await activities.drainNode({ ...step, drain: DRAIN, startedAt: new Date().toISOString() });
  await activities.checkCordon({ ...step, drain: DRAIN });
  await activities.showRebooting({ ...step, summary: 'a reboot' });
  const isReady = activities.awaitReturn({
    ...{ ...step, bootId: 'second', readySeconds: 0, timeoutSeconds: 30 },
  });
  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/priced/status', {
    status: { nodeInfo: { bootID: 'second' } },
  });
  await isReady;
  await activities.completeNode(step);

  // MCO's reasons.
  const told = ['Cordon', 'Drain', 'NodeDone', 'Reboot', 'Uncordon'];
  await eventually(async () => {
    const { items } = await fixture.cluster.admin.call<{ items: { reason: string }[] }>(
      'GET',
      '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dpriced,source%3Dslipway-cluster-worker',
    );
    expect(items.map(({ reason }) => reason).sort()).toEqual(told);
  });
  const writes = calls.filter((call) => WRITES.includes(call));
  const reads = calls.filter((call) => READS.includes(call));
  expect(writes.length - told.length).toBeLessThanOrEqual(10);
  expect(reads.length).toBeLessThanOrEqual(5);
  // Two PATCHes of the Node, however long its update is, and one that says that it is prepared.
  expect(calls.filter((call) => call === 'patch')).toHaveLength(3);
});
