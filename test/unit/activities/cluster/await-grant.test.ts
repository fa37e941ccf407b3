import { createAwaitGrant } from '../../../../activities/cluster/await-grant';
import type { ActivityRun, Lookup } from '../../../../activities/cluster/ports';
import { fail, failureName } from '../../../../core/errors';
import { ANNOTATION, LABEL } from '../../../../core/names';
import { preparedMark } from '../../../../core/node/prepared';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import type { Grant, PoolRollout } from '../../../../core/rollout/pool-rollout';
import type { TakeOutInput } from '../../../../workflows/contracts/cluster';
import { aPool } from '../../core/pool/builders';
import { A, aRun, B, BEFORE, decideOn, grantOf, old, waits } from '../../core/rollout/rollout-pool';

/** Objects of one kind that change. */
class Changing<T extends { readonly metadata: { readonly name: string } }> implements Lookup<T> {
  readonly synced = Promise.resolve();
  readonly #listeners = new Set<(event: { readonly object: T }) => void>();
  #objects: readonly T[];

  constructor(...objects: readonly T[]) {
    this.#objects = objects;
  }

  get = (name: string) => this.#objects.find(({ metadata }) => metadata.name === name);
  list = () => this.#objects;

  subscribe(listener: (event: { readonly object: T }) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get heard(): number {
    return this.#listeners.size;
  }

  put(object: T): void {
    const others = this.#objects.filter(({ metadata }) => metadata.name !== object.metadata.name);
    this.#objects = [...others, object];
    for (const listener of this.#listeners) listener({ object });
  }

  remove(name: string): void {
    const object = this.get(name);
    this.#objects = this.#objects.filter(({ metadata }) => metadata.name !== name);
    if (object !== undefined) for (const listener of this.#listeners) listener({ object });
  }
}

const STEP: TakeOutInput = {
  ...{ node: 'n', uid: 'uid-n', pool: 'worker', config: B, run: aRun('r1') },
  ...{ workflowId: 'update-node/n', cordon: true, summary: 'reboot' },
};

function worker(name: string, facts: Parameters<typeof old>[1] = {}): Node {
  return old(name, { ...facts, labels: { [LABEL.WORKER]: '' } });
}

function pool(spec: object = {}, name = 'worker', label: string = LABEL.WORKER): MachineConfigPool {
  const nodeSelector = { matchLabels: { [label]: '' } };
  return aPool({ configuration: { name: B }, nodeSelector, maxUnavailable: 1, ...spec }, { name });
}

function rollout(...grants: readonly Grant[]): PoolRollout {
  const { status } = decideOn({ nodes: [] });
  return {
    metadata: { name: 'worker' },
    status: { ...status, blocker: 'two nodes are out', grants },
  };
}

interface Scene {
  readonly nodes?: readonly Node[];
  readonly machineConfigNodes?: readonly MachineConfigNode[];
  readonly silentMs?: number;
  readonly pools?: readonly MachineConfigPool[];
  /** Of other pools, as the API server has them. */
  readonly elsewhere?: readonly PoolRollout[];
}

/** A wait under way. */
function waiting(step: TakeOutInput = STEP, scene: Scene = {}) {
  const { nodes = [worker('n'), worker('b')], machineConfigNodes = [], silentMs = 0 } = scene;
  const { pools = [pool()], elsewhere = [] } = scene;
  const view = {
    nodes: new Changing(...nodes),
    pools: new Changing(...pools),
    machineConfigNodes: new Changing(...machineConfigNodes),
    poolRollouts: new Changing(rollout()),
  };
  const cancelled = new AbortController();
  const blockers: string[] = [];
  const said: string[] = [];
  let told: () => void = () => undefined;
  const run = {
    signal: cancelled.signal,
    heartbeat: ({ blocker }: { readonly blocker: string }) => {
      blockers.push(blocker);
      told();
    },
    log: { debug: () => undefined },
  } as unknown as ActivityRun;
  const api = { isAway: false, now: Date.parse(BEFORE) + 60_000 };
  const dated = { newest: 0, silentMs: 0, reached: () => Promise.resolve(true) };
  const put = (object: MachineConfigNode) => {
    const resourceVersion = String(said.length);
    view.machineConfigNodes.put({
      ...object,
      metadata: { ...object.metadata, resourceVersion },
    });
    return Promise.resolve(view.machineConfigNodes.get(object.metadata.name) ?? object);
  };
  const ended = createAwaitGrant({
    run: () => run,
    view: {
      nodes: Object.assign(view.nodes, { ...dated, silentMs }),
      pools: Object.assign(view.pools, dated),
      machineConfigNodes: Object.assign(view.machineConfigNodes, dated),
      poolRollouts: view.poolRollouts,
    },
    nodes: {
      change: () => Promise.reject(new Error('no Node is written')),
      refresh: () =>
        api.isAway
          ? Promise.reject(fail('ApiUnavailable', 'it does not answer'))
          : Promise.resolve(),
      read: (name) => {
        const node = view.nodes.get(name);
        return node === undefined
          ? Promise.reject(fail('ObjectNotFound', `node ${name} does not exist`))
          : Promise.resolve(node);
      },
    },
    machineConfigNodes: {
      read: () => Promise.reject(new Error('not read here')),
      applyStatus: () => Promise.reject(new Error('no status is written')),
      applySpec: ({ name }, spec) => {
        said.push(`made for ${spec.configVersion.desired}`);
        return put({ metadata: { name }, spec });
      },
      annotate: (name, annotations) => {
        const known = view.machineConfigNodes.get(name);
        if (known === undefined) return Promise.reject(fail('ObjectNotFound', name));
        said.push(annotations[ANNOTATION.PREPARED] ?? '');
        return put({ ...known, metadata: { ...known.metadata, annotations } });
      },
    },
    poolRollouts: {
      read: (name) => Promise.resolve(elsewhere.find(({ metadata }) => metadata.name === name)),
      create: () => Promise.reject(new Error('no PoolRollout is made')),
      delete: () => Promise.reject(new Error('no PoolRollout is deleted')),
      writeStatus: () => Promise.reject(new Error('no PoolRollout is written')),
    },
    now: () => api.now,
    rollouts: { wake: (name, seen) => said.push(`woken: ${name} ${JSON.stringify(seen)}`) },
  })(step);
  const outcome = ended.then(
    () => 'granted',
    (error: unknown) => failureName(error) ?? (error as Error).message,
  );
  const nextBlocker = () =>
    new Promise<string>((resolve) => {
      told = () => resolve(blockers.at(-1) ?? '');
    });
  return { ...view, outcome, nextBlocker, cancelled, said, api };
}

describe('the wait of a control-plane node, where another pool has some, too', () => {
  const both = { labels: { [LABEL.WORKER]: '', [LABEL.CONTROL_PLANE]: '' } };
  const masters = pool({}, 'master', LABEL.MASTER);
  const scene: Scene = {
    nodes: [
      old('n', both),
      ...['m1', 'm2'].map((name) => old(name, { labels: { [LABEL.MASTER]: '' } })),
    ],
    pools: [pool(), masters],
  };
  const earlier = new Date(Date.parse(BEFORE) - 1000).toISOString();
  const elsewhere = [
    { ...rollout(grantOf('m1', 'r9', { grantedAt: earlier })), metadata: { name: 'master' } },
  ];

  it('goes after a grant that the other pool gave earlier', async () => {
    const wait = waiting(STEP, { ...scene, elsewhere });
    await wait.nextBlocker();
    const blocker = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n')));

    expect(await blocker).toBe(
      'waiting for room: at most 1 of 3 control-plane nodes at once; out of service: m1',
    );
    wait.cancelled.abort();
    await wait.outcome;
  });

  it('waits until no earlier grant can come', async () => {
    const wait = waiting(STEP, scene);
    wait.api.now = Date.parse(BEFORE) + 9_999;
    await wait.nextBlocker();
    const blocker = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n')));
    expect(await blocker).toBe('waiting for earlier grants to control-plane nodes in master');

    wait.api.now += 1;
    wait.pools.put(masters);

    expect(await wait.outcome).toBe('granted');
  });
});

describe('the wait for a grant', () => {
  it('says what it waits for, and ends with the grant of its run', async () => {
    const wait = waiting();
    expect(await wait.nextBlocker()).toBe(
      'waiting for a grant of poolrollout worker: two nodes are out',
    );

    const again = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n', 'r0'), grantOf('b')));
    await again;
    wait.poolRollouts.put(rollout(grantOf('n')));

    expect(await wait.outcome).toBe('granted');
    expect([wait.nodes, wait.pools, wait.poolRollouts].map(({ heard }) => heard)).toEqual([
      0, 0, 0,
    ]);
  });

  it('says on the MachineConfigNode that the update is prepared, once, and wakes the rollout', async () => {
    const mark = preparedMark(STEP.run, B, false);
    const wait = waiting(STEP, { machineConfigNodes: [waits('n', 'r0')] });
    await wait.nextBlocker();
    const again = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('b')));
    await again;

    expect(wait.said).toEqual([mark, 'woken: worker {"machineConfigNodes":1}']);
    wait.poolRollouts.put(rollout(grantOf('n')));
    await wait.outcome;
  });

  it('makes the MachineConfigNode where there is none, for the config that the node is on', async () => {
    const wait = waiting({ ...STEP, serves: true });
    await wait.nextBlocker();

    const mark = preparedMark(STEP.run, B, true);
    expect(wait.said.slice(0, 2)).toEqual([`made for ${A}`, mark]);
    wait.cancelled.abort(new Error('cancelled'));
    await wait.outcome;
  });

  it('goes on with its grant while nobody knows how the nodes are', async () => {
    const wait = waiting(STEP, { silentMs: 16_000 });
    await wait.nextBlocker();
    wait.api.isAway = true;
    const unknown = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n')));

    expect(await unknown).toBe('waiting for the Kubernetes API server: it does not answer');

    wait.api.isAway = false;
    wait.pools.put(pool());
    expect(await wait.outcome).toBe('granted');
  });

  it('waits without a pool: its nodes count for another one', async () => {
    const wait = waiting();
    await wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n')));
    wait.pools.remove('worker');

    expect(await wait.nextBlocker()).toMatch(/^waiting for a grant of poolrollout worker/);
    wait.cancelled.abort(new Error('cancelled'));
    await wait.outcome;
  });

  it('goes on with its grant while the pool has no room', async () => {
    const wait = waiting(STEP, { nodes: [worker('n'), worker('down', { ready: 'False' })] });
    await wait.nextBlocker();
    const full = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n')));

    expect(await full).toBe('waiting for room: maxUnavailable is 1; out of service: down');

    wait.nodes.put(worker('down'));
    wait.pools.put(pool());
    expect(await wait.outcome).toBe('granted');
  });

  it('leaves the control plane of all pools its quorum', async () => {
    const master = (name: string, pool: string, ready: 'True' | 'False' = 'True') =>
      old(name, { ready, labels: { [LABEL.CONTROL_PLANE]: '', [pool]: '' } });
    const nodes = [
      ...[master('n', LABEL.WORKER), master('m', 'masters', 'False'), master('o', 'masters')],
    ];
    const wait = waiting(STEP, { nodes });
    await wait.nextBlocker();
    const full = wait.nextBlocker();
    wait.poolRollouts.put(rollout(grantOf('n')));

    expect(await full).toBe(
      'waiting for room: at most 1 of 3 control-plane nodes at once; out of service: m',
    );
    wait.cancelled.abort(new Error('cancelled'));
    await wait.outcome;
  });

  it.each<[string, (wait: ReturnType<typeof waiting>) => void]>([
    ['NodeDeleted', ({ nodes }) => nodes.remove('n')],
    [
      'NodeDeleted',
      ({ nodes }) => nodes.put({ ...worker('n'), metadata: { name: 'n', uid: 'other' } }),
    ],
    [
      'NodeMoved',
      ({ pools, nodes }) => {
        pools.put(pool({}, 'infra', 'node-role.kubernetes.io/infra'));
        const labels = { [LABEL.WORKER]: '', 'node-role.kubernetes.io/infra': '' };
        nodes.put(old('n', { labels }));
      },
    ],
    [
      'HeldByUser',
      ({ nodes }) => nodes.put(worker('n', { annotations: { [ANNOTATION.HELD_FOR]: B } })),
    ],
    [
      'Retargeted',
      ({ pools }) => pools.put(pool({ configuration: { name: 'rendered-worker-c' } })),
    ],
  ])('ends by itself with %s', async (name, happen) => {
    const wait = waiting();
    await wait.nextBlocker();
    happen(wait);

    expect(await wait.outcome).toBe(name);
  });

  it('goes on for a node that is taken back, whoever holds it and whatever the pool has', async () => {
    const wait = waiting({ ...STEP, config: A, takesBack: true });
    await wait.nextBlocker();
    wait.nodes.put(worker('n', { annotations: { [ANNOTATION.HELD_FOR]: B } }));
    wait.poolRollouts.put(rollout(grantOf('n')));

    expect(await wait.outcome).toBe('granted');
  });

  it('ends when it is cancelled', async () => {
    const wait = waiting();
    await wait.nextBlocker();
    wait.cancelled.abort(new Error('cancelled'));

    expect(await wait.outcome).toBe('cancelled');
  });
});
