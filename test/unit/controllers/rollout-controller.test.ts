import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { createMetrics } from '../../../controllers/metrics';
import { RolloutController, type RolloutGateway } from '../../../controllers/rollout';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { PictureVersions } from '../../../workflows/cluster-contracts';
import { Objects } from './listed-objects';
import { aNode, aPool } from './objects';

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

interface Bench {
  readonly asked: string[];
  readonly open: Set<string>;
  /** Versions of the caches with which it was called. */
  readonly seenIn: PictureVersions[];
  waking: Promise<void>;
  refuses: string | undefined;
  /** The pools in the API server, when the watch is behind. */
  stored: ((name: string) => MachineConfigPool | undefined) | undefined;
  readonly nodes: Objects<Node>;
  readonly pools: Objects<MachineConfigPool>;
}

const CANCELLED = aPool(
  'worker',
  { configuration: { name: 'b' } },
  { annotations: { 'slipway.dev/rollout-cancelled': 'b' } },
);

const stop: AbortController[] = [];

function aBench(): Bench {
  const nodes = new Objects<Node>([aNode({ current: 'a', desired: 'a', state: 'Done' })]);
  const pools = new Objects<MachineConfigPool>([aPool('worker', { configuration: { name: 'b' } })]);
  const asked: string[] = [];
  const open = new Set<string>();
  const bench: Bench = {
    ...{ asked, open, seenIn: [], waking: Promise.resolve(), nodes, pools },
    ...{ refuses: undefined, stored: undefined },
  };
  const gateway: RolloutGateway = {
    retarget: async (pool, target, versions) => {
      bench.seenIn.push(versions);
      if (bench.refuses !== undefined) {
        asked.push('refused');
        throw new Error(bench.refuses);
      }
      if (open.has(pool)) asked.push(`retarget ${target}`);
      return open.has(pool);
    },
    start: async (pool, target, versions) => {
      bench.seenIn.push(versions);
      asked.push(`start ${target}`);
      open.add(pool);
    },
    wake: async (pool, { versions }) => {
      asked.push('wake');
      if (versions !== undefined) bench.seenIn.push(versions);
      await bench.waking;
      return open.has(pool);
    },
    isOpen: async (pool) => {
      asked.push('look');
      return open.has(pool);
    },
  };
  const leading = new AbortController();
  stop.push(leading);
  const picture = {
    nodes,
    pools,
    policies: new Objects<RolloutPolicy>(),
  } as unknown as ClusterPicture;
  void new RolloutController(
    {
      picture,
      gateway,
      readPool: async (name) => (bench.stored ?? ((pool) => pools.get(pool)))(name),
      events: { record: () => undefined, over: () => undefined },
      metrics: createMetrics(),
      log: QUIET,
    },
    leading.signal,
  );
  return bench;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  for (const one of stop.splice(0)) one.abort();
  jest.useRealTimers();
});

it('looks now and then whether the rollout is open, while nodes are behind', async () => {
  const bench = aBench();

  await pass(21_000);

  expect(bench.asked).toEqual(['start b', 'look', 'look']);
});

it('starts the rollout again when Temporal has lost it, although nothing changed', async () => {
  const bench = aBench();
  await pass(1_000);

  bench.open.clear();
  await pass(12_000);

  expect(bench.asked).toEqual(['start b', 'look', 'look', 'start b']);
});

it('does not restart a rollout that ended with a cancel that the watch has yet to show', async () => {
  const bench = aBench();
  await pass(1_000);

  bench.open.clear();
  bench.nodes.put(aNode({ current: 'a', desired: 'a', state: 'Done', cordoned: 'person' }));
  await pass(200);
  bench.pools.put(CANCELLED);
  await pass(120_000);

  expect(bench.asked.filter((asked) => asked.startsWith('start'))).toHaveLength(1);
});

it.each([
  ['cancelled it', CANCELLED],
  ['aimed the pool elsewhere', aPool('worker', { configuration: { name: 'c' } })],
  ['deleted the pool', undefined],
])('starts no rollout by an old cache when a person has %s', async (_what, stored) => {
  const bench = aBench();
  bench.stored = () => stored;

  await pass(120_000);

  expect(bench.asked).toEqual([]);
});

it('does not start a rollout again that a person has cancelled, however far the watch is behind', async () => {
  const bench = aBench();
  await pass(1_000);

  bench.open.clear();
  bench.stored = () => CANCELLED;
  await pass(120_000);
  bench.stored = undefined;
  bench.pools.put(CANCELLED);
  await pass(120_000);

  expect(bench.asked.filter((asked) => asked.startsWith('start'))).toEqual(['start b']);
});

it('tells an open rollout the target without a check of the pool, as when the API server is away', async () => {
  const bench = aBench();
  bench.open.add('worker');
  bench.stored = () => {
    throw new Error('the API server is away');
  };

  await pass(5_000);

  expect(bench.asked).toEqual(['retarget b']);
});

it('starts a rollout that waited for the API server as soon as the pool can be read', async () => {
  const bench = aBench();
  bench.stored = () => {
    throw new Error('the API server is away');
  };
  await pass(30_000);
  expect(bench.asked).toEqual([]);

  bench.stored = undefined;
  await pass(6_000);

  expect(bench.asked).toEqual(['start b']);
});

it('asks nothing any more when every node is on the config', async () => {
  const bench = aBench();
  await pass(1_000);

  bench.nodes.put(aNode({ current: 'b', desired: 'b', state: 'Done' }));
  await pass(31_000);
  const asked = bench.asked.length;
  await pass(300_000);

  expect(bench.asked).toHaveLength(asked);
});

it('tells an open rollout that the pool went back to the config that its nodes are on', async () => {
  const bench = aBench();
  await pass(1_000);

  bench.pools.put(aPool('worker', { configuration: { name: 'a' } }));
  await pass(1_000);

  expect(bench.asked).toEqual(['start b', 'wake']);
});

it('tells an open rollout that the last node in its way is gone', async () => {
  const bench = aBench();
  await pass(1_000);

  bench.nodes.remove('n1');
  await pass(1_000);

  expect(bench.asked).toEqual(['start b', 'wake']);
});

it('tries again soon when Temporal is away', async () => {
  const bench = aBench();
  bench.refuses = 'UNAVAILABLE';
  await pass(60_000);
  expect(bench.asked.length).toBeGreaterThan(10);

  bench.refuses = undefined;
  await pass(5_000);

  expect(bench.open.has('worker')).toBe(true);
});

it('folds the changes of many nodes into few wakes', async () => {
  const bench = aBench();
  await pass(1_000);

  for (let index = 0; index < 200; index++) {
    bench.nodes.put(aNode({ name: `joined-${index}` }));
    await pass(5);
  }
  await pass(1_000);

  const wakes = bench.asked.filter((asked) => asked === 'wake').length;
  expect(wakes).toBeGreaterThanOrEqual(2);
  expect(wakes).toBeLessThanOrEqual(5);
});

describe('a node that falls back to another pool because its own changed', () => {
  const infra = (nodeSelector?: MachineConfigPool['spec']['nodeSelector']): MachineConfigPool =>
    aPool('infra', {
      configuration: { name: 'of-infra' },
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    });

  async function settled(): Promise<Bench> {
    const bench = aBench();
    const roles = ['worker', 'infra'];
    bench.pools.put(infra());
    bench.nodes.put(aNode({ roles, current: 'of-infra', desired: 'of-infra', state: 'Done' }));
    await pass(30_000);
    bench.asked.length = 0;
    await pass(60_000);
    expect(bench.asked).toEqual([]);
    return bench;
  }

  it('is rolled by that pool when its own is deleted', async () => {
    const bench = await settled();

    bench.pools.remove('infra');
    await pass(1_000);

    expect(bench.asked).toContain('start b');
  });

  it('is rolled by that pool when the selector of its own changes', async () => {
    const bench = await settled();

    bench.pools.put(infra({ matchLabels: { zone: 'elsewhere' } }));
    await pass(1_000);

    expect(bench.asked).toContain('start b');
  });

  it('goes to a pool that is made for it', async () => {
    const bench = await settled();
    bench.pools.remove('infra');
    await pass(30_000);
    bench.nodes.put(
      aNode({ roles: ['worker', 'infra'], current: 'b', desired: 'b', state: 'Done' }),
    );
    await pass(30_000);
    bench.asked.length = 0;

    bench.pools.put(infra());
    await pass(1_000);

    expect(bench.asked).toEqual(expect.arrayContaining(['start of-infra', 'wake']));
  });
});

describe('what it tells the rollout', () => {
  const cordoned = (name: string) =>
    aNode({ name, current: 'a', desired: 'a', state: 'Done', cordoned: 'person' });

  it('says in which cache it was seen', async () => {
    const bench = aBench();
    bench.nodes.newest = 12;
    await pass(1_000);
    bench.nodes.newest = 14;
    bench.pools.newest = 13;
    bench.nodes.put(aNode({ current: 'a', desired: 'a', state: 'Done', cordoned: 'person' }));
    await pass(1_000);

    expect(bench.asked).toEqual(['start b', 'wake']);
    expect(bench.seenIn).toEqual([
      { nodes: 12, pools: 0, policies: 0 },
      { nodes: 12, pools: 0, policies: 0 },
      { nodes: 14, pools: 13, policies: 0 },
    ]);
  });

  it('is told once more when the same happens while it is told', async () => {
    const bench = aBench();
    await pass(1_000);
    let answer = (): void => undefined;
    bench.waking = new Promise((resolve) => {
      answer = resolve;
    });
    const [node] = bench.nodes.list();
    const changed = cordoned(node?.metadata.name ?? '');
    bench.nodes.put(changed);
    await pass(1_000);

    if (node !== undefined) bench.nodes.put(node);
    bench.nodes.put(changed);
    answer();
    await pass(1_000);

    expect(bench.asked).toEqual(['start b', 'wake', 'wake']);
  });
});
