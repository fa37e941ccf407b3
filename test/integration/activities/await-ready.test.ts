/** Waits for a node while the API server is away or its watch is silent. */

import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import { startBreakableProxy, throughProxy, type BreakableProxy } from '../kube/breakable-proxy';
import {
  eventually,
  inCache,
  startCaches,
  startKubeFixture,
  type KubeFixture,
  type RunningCaches,
} from '../kube/fixture';
import { activitiesFor, aWorker, playedRun, stepFor } from './activities-fixture';

jest.setTimeout(240_000);

const CONFIG = 'rendered-worker-1';

let fixture: KubeFixture;
let proxy: BreakableProxy;
let proxied: KubeClient;
let running: RunningCaches;
let direct: RunningCaches;

beforeAll(async () => {
  fixture = await startKubeFixture();
  proxy = await startBreakableProxy(Number(new URL(fixture.cluster.server).port));
  proxied = await connectKube({
    kubeconfig: throughProxy(fixture, proxy),
    userAgent: 'slipway-tests',
    log: fixture.log,
  });
  running = await startCaches(proxied, fixture.log);
  direct = await startCaches(fixture.worker, fixture.log);
});

afterAll(async () => {
  await running?.stop();
  await direct?.stop();
  proxied?.close();
  await proxy?.close();
  await fixture?.stop();
});

async function status(name: string, change: object): Promise<void> {
  await fixture.cluster.admin.call('PATCH', `/api/v1/nodes/${name}/status`, { status: change });
}

/** As a kubelet without network reports it; a strategic patch, so the other conditions stay. */
async function isNotReady(name: string): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  const { status: is } = await fixture.cluster.admin.call<{
    status: { conditions: readonly { readonly type: string }[] };
  }>('GET', path);
  const others = is.conditions.filter(({ type }) => type !== 'Ready');
  const ready = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'no CNI' };
  await status(name, { conditions: [...others, ready] });
}

it('believes no watch whose connection leads nowhere', async () => {
  await aWorker(fixture, 'unseen');
  await inCache(running.caches.nodes, 'unseen', ({ status: is }) =>
    (is?.conditions ?? []).some(({ type, status: said }) => type === 'Ready' && said === 'True'),
  );
  proxy.stall();
  await isNotReady('unseen');

  const waiting = activitiesFor(fixture, running.caches).awaitReturn({
    ...stepFor('unseen', CONFIG),
    ...{ readySeconds: 3, timeoutSeconds: 1 },
  });

  await expect(waiting).rejects.toMatchObject({
    name: 'NodeNotReady',
    message: expect.stringContaining('KubeletNotReady: no CNI') as string,
  });
});

it('takes no time from a node while the API server is away, and says that it waits for that', async () => {
  await aWorker(fixture, 'outage');
  await inCache(direct.caches.nodes, 'outage', () => true);
  const run = playedRun();
  await fixture.cluster.killApiServer();

  const waiting = activitiesFor(fixture, direct.caches, run).awaitReturn({
    ...stepFor('outage', CONFIG),
    ...{ bootId: 'second', readySeconds: 0, timeoutSeconds: 8 },
  });
  // Five seconds lie between two checks.
  await eventually(() => {
    const said = run.heartbeats.map((told) => (told as { readonly blocker: string }).blocker);
    const away = said.filter((blocker) => blocker.includes('from the Kubernetes API server: '));
    expect(away.length).toBeGreaterThanOrEqual(4);
  });
  await fixture.cluster.startApiServer();
  await status('outage', { nodeInfo: { bootID: 'second' } });

  await expect(waiting).resolves.toBeUndefined();
});
