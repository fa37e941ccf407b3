import { WatchCache } from '../../../adapters/kube/cache';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import { MACHINE_CONFIG_POOLS } from '../../../adapters/kube/resources';
import type { WatchSource } from '../../../adapters/kube/watch';
import type { MachineConfigPool } from '../../../core/pool/types';
import { startBreakableProxy, throughProxy, type BreakableProxy } from './breakable-proxy';
import {
  applyManifest,
  eventually,
  inCache,
  recordedLog,
  startKubeFixture,
  type KubeFixture,
  type RecordedLog,
} from './fixture';

jest.setTimeout(240_000);

let fixture: KubeFixture;
let proxy: BreakableProxy;
let log: RecordedLog;
let client: KubeClient;

beforeAll(async () => {
  fixture = await startKubeFixture();
  proxy = await startBreakableProxy(Number(new URL(fixture.cluster.server).port));
  log = recordedLog();
  client = await connectKube({
    kubeconfig: throughProxy(fixture, proxy),
    userAgent: 'slipway-tests',
    log,
  });
});

afterAll(async () => {
  client?.close();
  await proxy?.close();
  await fixture?.stop();
});

/** The real client; counts the requests of a watch. */
function counted(): WatchSource & { lists: number; watches: number } {
  const source = {
    lists: 0,
    watches: 0,
    list: (async (...args: Parameters<KubeClient['list']>) => {
      source.lists += 1;
      return client.list(...args);
    }) as WatchSource['list'],
    watch: ((...args: Parameters<KubeClient['watch']>) => {
      source.watches += 1;
      return client.watch(...args);
    }) as WatchSource['watch'],
  };
  return source;
}

async function writePool(name: string, maxUnavailable: number): Promise<void> {
  await applyManifest(fixture.admin, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name },
    spec: {
      maxUnavailable,
      nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
      machineConfigSelector: {
        matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' },
      },
    },
  });
}

function follow(source: WatchSource) {
  const cache = new WatchCache<MachineConfigPool>({
    resource: MACHINE_CONFIG_POOLS,
    log,
    backoff: { firstMs: 20, maxMs: 200 },
  });
  const stopping = new AbortController();
  const running = cache.run(source, stopping.signal);
  return {
    cache,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

const has = (maxUnavailable: number) => (pool: MachineConfigPool) =>
  pool.spec.maxUnavailable === maxUnavailable;

it('goes on after a broken connection without a second LIST, and misses nothing', async () => {
  await writePool('resume', 1);
  const source = counted();
  const { cache, stop } = follow(source);
  await cache.synced;
  await eventually(() => expect(source.watches).toBe(1));

  proxy.cut();
  await writePool('resume', 2);
  await writePool('while-away', 1);
  proxy.mend();

  await inCache(cache, 'resume', has(2));
  await inCache(cache, 'while-away', has(1));
  expect(source.lists).toBe(1);
  expect(source.watches).toBeGreaterThan(1);
  await stop();
});

it('waits for an API server that is away, and says so once', async () => {
  proxy.cut();
  log.lines.length = 0;
  const source = counted();
  const { cache, stop } = follow(source);
  await eventually(() => expect(source.lists).toBeGreaterThan(3));
  expect(cache.isSynced).toBe(false);
  proxy.mend();
  await cache.synced;

  const said = log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);
  expect(said).toEqual([
    'Kubernetes API does not answer; waiting for it',
    'Kubernetes API answers again',
  ]);
  await stop();
});

it('leaves a connection that carries nothing any more, and misses nothing', async () => {
  await writePool('stalled', 1);
  const impatient = await connectKube({
    kubeconfig: throughProxy(fixture, proxy),
    userAgent: 'slipway-tests',
    silenceMs: 2_000,
    log,
  });
  const { cache, stop } = follow(impatient);
  await cache.synced;
  // The watch has shown it, so it runs.
  await writePool('stalled', 2);
  await inCache(cache, 'stalled', has(2));

  proxy.stall();
  await writePool('stalled', 3);

  await inCache(cache, 'stalled', has(3));
  await stop();
  impatient.close();
  // The shared client's idle connections carry no data either.
  proxy.cut();
  proxy.mend();
});

it('survives a restart of the API server and sees what changed since', async () => {
  await writePool('restart', 1);
  const source = counted();
  const { cache, stop } = follow(source);
  await inCache(cache, 'restart', has(1));

  await fixture.cluster.killApiServer();
  await fixture.cluster.startApiServer();
  await writePool('restart', 2);
  await inCache(cache, 'restart', has(2));

  // A restarted server may not know the version any more (410): then, and only then, one LIST.
  expect(source.lists).toBeLessThanOrEqual(2);
  await stop();
});

it('forgets an object that was deleted, and a late reply does not bring it back', async () => {
  await writePool('deleted', 1);
  const { cache, stop } = follow(counted());
  const last = await inCache(cache, 'deleted', has(1));
  const gone = new Promise<void>((resolve) => {
    cache.subscribe(({ type, object }) => {
      if (type === 'deleted' && object.metadata.name === 'deleted') resolve();
    });
  });
  await fixture.admin.delete(MACHINE_CONFIG_POOLS, { name: 'deleted' });
  await gone;

  cache.absorb(last);

  expect(cache.get('deleted')).toBeUndefined();
  await stop();
});
