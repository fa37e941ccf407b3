import type { CacheEvent } from '../../../../adapters/kube/cache';
import type { KubeObject } from '../../../../adapters/kube/resources';
import { fail } from '../../../../core/errors';
import type { MachineConfig } from '../../../../core/machine-config/types';
import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import { createClusterSource } from '../../../../server/ignition/cluster-source';
import type { FileFacts } from '../../../../server/ignition/facts';
import type { Look } from '../../../../server/ignition/source';
import { aRendered } from './builders';

function aCache<T extends KubeObject>() {
  const objects = new Map<string, T>();
  const listeners = new Set<(event: CacheEvent<T>) => void>();
  const state = { isSynced: true };
  return {
    get isSynced() {
      return state.isSynced;
    },
    state,
    synced: Promise.resolve(),
    get: (name: string) => objects.get(name),
    list: () => [...objects.values()],
    subscribe: (listener: (event: CacheEvent<T>) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    put(object: T) {
      objects.set(object.metadata.name, object);
      for (const listener of listeners) listener({ type: 'added', object });
    },
    remove(name: string) {
      const object = objects.get(name);
      objects.delete(name);
      if (object) for (const listener of listeners) listener({ type: 'deleted', object });
    },
  };
}

function aPool(now: string, next = now, updatedMachineCount = 0): MachineConfigPool {
  return {
    metadata: { name: 'worker' },
    spec: { configuration: { name: next } },
    status: { configuration: { name: now }, updatedMachineCount },
  };
}

function owned(name: string, pool = 'worker'): MachineConfig {
  const owner = { apiVersion: 'v1', kind: 'MachineConfigPool', name: pool, uid: 'u' };
  const { metadata, ...rest } = aRendered(name);
  return { ...rest, metadata: { ...metadata, ownerReferences: [owner] } };
}

/** A worker that reports this config. */
function aWorker(name: string, config: string, state = 'Done'): Node {
  return {
    metadata: {
      name,
      labels: { 'node-role.kubernetes.io/worker': '' },
      annotations: {
        [ANNOTATION.CURRENT_CONFIG]: config,
        [ANNOTATION.DESIRED_CONFIG]: config,
        [ANNOTATION.STATE]: state,
      },
    },
  };
}

function aCluster(patience?: number) {
  const pools = aCache<MachineConfigPool>();
  const nodes = aCache<Node>();
  const controllerConfigs = aCache<KubeObject>();
  const configs = new Map<string, MachineConfig>([
    ['one', aRendered('one')],
    ['two', aRendered('two')],
  ]);
  const reads: string[] = [];
  const warnings: object[] = [];
  const state = {
    away: false,
    failure: undefined as Error | undefined,
    /** Every read waits for it. */
    slow: undefined as Promise<void> | undefined,
    now: 0,
    facts: {} as FileFacts,
    missing: [] as string[],
  };
  const source = createClusterSource({
    pools,
    controllerConfigs,
    nodes,
    readMachineConfig: async (name) => {
      reads.push(name);
      const found = configs.get(name);
      await state.slow;
      if (state.failure !== undefined) throw state.failure;
      if (state.away) throw fail('ApiUnavailable', 'connection refused');
      return found;
    },
    log: { warn: (fields) => void warnings.push(fields) },
    facts: () => state.facts,
    bundles: {
      contents: () => undefined,
      missing: () => state.missing,
      onChange: () => () => undefined,
    },
    ageSeconds: () => 0,
    clock: () => state.now,
    ...(patience === undefined ? {} : { patience }),
  });
  const look = async (pool = 'worker'): Promise<Look> => source.look(pool);
  const name = async (): Promise<string> => {
    const found = await look();
    return 'served' in found
      ? found.served.name
      : `${found.missing.status} ${found.missing.reason}`;
  };
  const key = async (): Promise<string> => {
    const found = await look();
    if ('missing' in found) throw new Error(found.missing.message);
    return found.served.key;
  };
  return {
    source,
    pools,
    nodes,
    controllerConfigs,
    configs,
    reads,
    state,
    warnings,
    look,
    name,
    key,
  };
}

describe('first configs of a watched cluster', () => {
  it('are read once and served from memory', async () => {
    const { pools, reads, name } = aCluster();
    pools.put(aPool('one'));

    expect(await Promise.all([name(), name(), name()])).toEqual(['one', 'one', 'one']);
    await name();
    expect(reads).toEqual(['one']);
  });

  it('wait for the pull secret, because a machine would start without it', async () => {
    const { pools, state, look, name } = aCluster();
    pools.put(aPool('one'));
    state.missing = ['secret slipway/pull-secret'];

    expect(await look()).toEqual({
      missing: {
        status: 503,
        reason: 'not-ready',
        message: 'not seen yet: secret slipway/pull-secret',
      },
    });
    state.missing = [];
    expect(await name()).toBe('one');
  });

  it('change with the pool, and with nothing else', async () => {
    const { pools, name, key } = aCluster();
    pools.put(aPool('one', 'two', 0));
    expect(await name()).toBe('one');
    const before = await key();
    pools.put({ ...aPool('one', 'two', 0), metadata: { name: 'worker', resourceVersion: '7' } });
    expect(await key()).toBe(before);

    pools.put(aPool('one', 'two', 1));

    expect(await name()).toBe('two');
    expect(await key()).not.toBe(before);
  });

  it('stay what is verified while the status of the pool is behind, and no more than that', async () => {
    const { pools, name } = aCluster();
    const at = (generation: number, observedGeneration: number, pool: MachineConfigPool) => ({
      ...pool,
      metadata: { ...pool.metadata, generation },
      status: { ...pool.status, observedGeneration },
    });
    pools.put(at(1, 1, aPool('one', 'one', 3)));

    // All three are counted on the earlier config.
    pools.put(at(2, 1, aPool('one', 'two', 3)));
    expect(await name()).toBe('one');
    pools.put(at(2, 2, aPool('one', 'two', 1)));
    expect(await name()).toBe('two');
    pools.put(at(3, 2, aPool('one', 'two', 1)));
    expect(await name()).toBe('two');
  });

  it('are of the newer config when the older one was read for so long', async () => {
    const { pools, state, name } = aCluster();
    pools.put(aPool('one'));
    let go: () => void = () => undefined;
    state.slow = new Promise((resolve) => (go = resolve));
    const asked = name();
    state.slow = undefined;
    pools.put(aPool('two'));
    expect(await name()).toBe('two');
    go();

    expect(await asked).toBe('two');
    state.away = true;
    expect(await name()).toBe('two');
  });

  it('are not of an older config because the newer one may not be read', async () => {
    const { pools, state, warnings, name } = aCluster();
    pools.put(aPool('one'));
    await name();
    pools.put(aPool('two'));

    state.failure = fail('ApiForbidden', 'no right');
    expect(await name()).toBe('503 not-ready');
    state.failure = undefined;
    state.away = true;
    expect(await name()).toBe('one');
    expect(warnings).toEqual([expect.objectContaining({ pool: 'worker', served: 'one' })]);
    state.away = false;
    expect(await name()).toBe('two');
  });

  it('change with the ControllerConfig and with files', async () => {
    const { pools, controllerConfigs, state, look, key } = aCluster();
    pools.put(aPool('one'));
    const keys = [await key()];

    controllerConfigs.put({
      metadata: { name: 'machine-config-controller' },
      spec: { kubeAPIServerServingCAData: 'QQ==', cloudProviderCAData: 7 },
    } as KubeObject);
    keys.push(await key());
    state.facts = { kubeconfig: 'k' };
    keys.push(await key());

    expect(new Set(keys).size).toBe(3);
    expect(await look()).toMatchObject({
      served: { facts: { kubeconfig: 'k', kubeletAuthority: 'QQ==' } },
    });
  });

  it('are refused by reason', async () => {
    const { pools, name } = aCluster();
    expect(await name()).toBe('500 unknown-pool');

    pools.put({ metadata: { name: 'worker' }, spec: {} });
    expect(await name()).toBe('500 no-rendered-config');

    pools.put(aPool('three'));
    expect(await name()).toBe('500 no-rendered-config');
  });

  it('wait until the cluster has been seen', async () => {
    const { pools, controllerConfigs, name } = aCluster();
    pools.put(aPool('one'));
    controllerConfigs.state.isSynced = false;

    expect(await name()).toBe('503 not-ready');
  });

  it('are served on while the API server is away, also when the pool has gone on', async () => {
    const { pools, state, name, reads } = aCluster();
    pools.put(aPool('one', 'two', 0));
    await name();
    state.away = true;
    state.now = 3_600_000;

    expect(await name()).toBe('one');
    pools.put(aPool('one', 'two', 1));
    expect(await name()).toBe('one');

    state.away = false;
    expect(await name()).toBe('two');
    expect(reads.at(-1)).toBe('two');
  });

  it('do not wait for ever for an API server that says nothing', async () => {
    const { pools, state, look, name, warnings } = aCluster(10);
    pools.put(aPool('one'));
    await name();
    let answer: () => void = () => undefined;
    state.slow = new Promise((resolve) => {
      answer = resolve;
    });
    pools.put(aPool('two'));
    pools.put({ ...aPool('two'), metadata: { name: 'other' } });

    expect(await name()).toBe('one');
    expect(warnings).toEqual([expect.objectContaining({ pool: 'worker', served: 'one' })]);
    expect(await look('other')).toMatchObject({
      missing: {
        status: 503,
        message: 'config two cannot be read: the API server has not answered within 0.01 s',
      },
    });

    answer();
    await state.slow;
    expect(await name()).toBe('two');
  });

  it('cannot be made up while the API server is away from the beginning', async () => {
    const { pools, state, look } = aCluster();
    pools.put(aPool('one'));
    state.away = true;

    expect(await look()).toMatchObject({
      missing: {
        status: 503,
        reason: 'not-ready',
        message: 'config one cannot be read: connection refused',
      },
    });
  });

  it('end when somebody deletes the rendered config', async () => {
    const { pools, configs, state, name } = aCluster();
    pools.put(aPool('one'));
    await name();
    configs.delete('one');
    state.now = 61_000;

    // Refreshed after the request that finds it old.
    expect(await name()).toBe('one');
    await Promise.resolve();
    expect(await name()).toBe('500 no-rendered-config');
  });

  it('go with their pool', async () => {
    const { pools, reads, name } = aCluster();
    pools.put(aPool('one'));
    await name();
    pools.remove('worker');
    expect(await name()).toBe('500 unknown-pool');

    pools.put(aPool('one'));
    await name();

    expect(reads).toEqual(['one', 'one']);
  });

  it('are reported when they change', async () => {
    const { source, pools, controllerConfigs, name } = aCluster();
    pools.put(aPool('one'));
    const changed: string[] = [];
    source.onChange?.((pool) => changed.push(pool));
    await pools.synced;
    await name();
    expect(changed).toEqual(['worker']);

    pools.put(aPool('two'));
    controllerConfigs.put({ metadata: { name: 'machine-config-controller' } });

    expect(changed).toEqual(['worker', 'worker', 'worker']);
  });
});

describe('a pool whose config was deleted in the middle of a rollout', () => {
  const [GONE, RUN, NEXT] = ['rendered-worker-a', 'rendered-worker-b', 'rendered-worker-c'];
  const selector = { matchLabels: { 'node-role.kubernetes.io/worker': '' } };
  const rolling = (now: string, next: string): MachineConfigPool => {
    const pool = aPool(now, next, 0);
    return { ...pool, spec: { ...pool.spec, nodeSelector: selector } };
  };
  const aRollout = () => {
    const cluster = aCluster();
    cluster.pools.put(rolling(GONE, NEXT));
    for (const name of [RUN, NEXT]) cluster.configs.set(name, owned(name));
    return cluster;
  };

  it('gives the one that it goes to, and says why, once', async () => {
    const { look, name, warnings } = aRollout();

    expect(await look()).toMatchObject({
      served: { name: NEXT, instead: { of: GONE, because: 'target' } },
    });
    await Promise.all([name(), name()]);
    expect(warnings).toEqual([{ pool: 'worker', served: NEXT, of: GONE, because: 'target' }]);
  });

  it('gives the one that most of its nodes have verified before that', async () => {
    const { nodes, look } = aRollout();
    nodes.put(aWorker('n0', GONE));
    nodes.put(aWorker('n1', RUN));
    nodes.put(aWorker('n2', NEXT, 'Working'));

    expect(await look()).toMatchObject({
      served: { name: RUN, instead: { of: GONE, because: 'proved' } },
    });
  });

  it('gives its own again as soon as that is back', async () => {
    const { configs, look, name } = aRollout();
    expect(await name()).toBe(NEXT);

    configs.set(GONE, owned(GONE));

    expect(await look()).toMatchObject({ served: { name: GONE } });
    expect(await look()).not.toMatchObject({ served: { instead: {} } });
  });

  it('gives nothing of another pool, whatever a kubelet says', async () => {
    const { configs, nodes, reads, name } = aRollout();
    configs.set('rendered-master-a', owned('rendered-master-a', 'master'));
    configs.set('rendered-worker-f', owned('rendered-worker-f', 'master'));
    nodes.put(aWorker('n0', 'rendered-master-a'));
    nodes.put(aWorker('n1', 'rendered-worker-f'));
    nodes.put({
      ...aWorker('other', RUN),
      metadata: { ...aWorker('other', RUN).metadata, labels: {} },
    });

    expect(await name()).toBe(NEXT);
    expect(reads).not.toContain('rendered-master-a');
  });

  it('goes back to the one before when the verified target is gone', async () => {
    const { pools, configs, name } = aRollout();
    configs.set(GONE, owned(GONE));
    configs.delete(NEXT);
    pools.put({
      ...rolling(GONE, NEXT),
      status: { configuration: { name: GONE }, updatedMachineCount: 1 },
    });

    expect(await name()).toBe(GONE);
  });

  it('has nothing when none is there, and says later while the nodes are not known', async () => {
    const { configs, nodes, name } = aRollout();
    configs.clear();
    expect(await name()).toBe('500 no-rendered-config');

    nodes.state.isSynced = false;

    expect(await name()).toBe('503 not-ready');
  });
});
