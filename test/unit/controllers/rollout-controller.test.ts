import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { createMetrics } from '../../../controllers/metrics';
import { RolloutController, type RolloutGateway } from '../../../controllers/rollout';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { PictureVersions } from '../../../workflows/contracts/cluster';
import { Objects } from './listed-objects';
import { aNode, aPool } from './objects';

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

interface Fixture {
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

function aFixture(): Fixture {
  const nodes = new Objects<Node>([aNode({ current: 'a', desired: 'a', state: 'Done' })]);
  const pools = new Objects<MachineConfigPool>([aPool('worker', { configuration: { name: 'b' } })]);
  const asked: string[] = [];
  const open = new Set<string>();
  const fixture: Fixture = {
    ...{ asked, open, seenIn: [], waking: Promise.resolve(), nodes, pools },
    ...{ refuses: undefined, stored: undefined },
  };
  const gateway: RolloutGateway = {
    retarget: async (pool, target, versions) => {
      fixture.seenIn.push(versions);
      if (fixture.refuses !== undefined) {
        asked.push('refused');
        throw new Error(fixture.refuses);
      }
      if (open.has(pool)) asked.push(`retarget ${target}`);
      return open.has(pool);
    },
    start: async (pool, target, versions) => {
      fixture.seenIn.push(versions);
      asked.push(`start ${target}`);
      open.add(pool);
    },
    wake: async (pool, { versions }) => {
      asked.push('wake');
      if (versions !== undefined) fixture.seenIn.push(versions);
      await fixture.waking;
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
      readPool: async (name) => (fixture.stored ?? ((pool) => pools.get(pool)))(name),
      events: { record: () => undefined, over: () => undefined },
      metrics: createMetrics(),
      log: QUIET,
    },
    leading.signal,
  );
  return fixture;
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
  const fixture = aFixture();

  await pass(21_000);

  expect(fixture.asked).toEqual(['start b', 'look', 'look']);
});

it('starts the rollout again when Temporal has lost it, although nothing changed', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.open.clear();
  await pass(12_000);

  expect(fixture.asked).toEqual(['start b', 'look', 'look', 'start b']);
});

it('does not restart a rollout that ended with a cancel that the watch has yet to show', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.open.clear();
  fixture.nodes.put(aNode({ current: 'a', desired: 'a', state: 'Done', cordoned: 'person' }));
  await pass(200);
  fixture.pools.put(CANCELLED);
  await pass(120_000);

  expect(fixture.asked.filter((asked) => asked.startsWith('start'))).toHaveLength(1);
});

it.each([
  ['cancelled it', CANCELLED],
  ['aimed the pool elsewhere', aPool('worker', { configuration: { name: 'c' } })],
  ['deleted the pool', undefined],
])('starts no rollout by an old cache when a person has %s', async (_what, stored) => {
  const fixture = aFixture();
  fixture.stored = () => stored;

  await pass(120_000);

  expect(fixture.asked).toEqual([]);
});

it('does not start a rollout again that a person has cancelled, however far the watch is behind', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.open.clear();
  fixture.stored = () => CANCELLED;
  await pass(120_000);
  fixture.stored = undefined;
  fixture.pools.put(CANCELLED);
  await pass(120_000);

  expect(fixture.asked.filter((asked) => asked.startsWith('start'))).toEqual(['start b']);
});

it('tells an open rollout the target without a check of the pool, as when the API server is away', async () => {
  const fixture = aFixture();
  fixture.open.add('worker');
  fixture.stored = () => {
    throw new Error('the API server is away');
  };

  await pass(5_000);

  expect(fixture.asked).toEqual(['retarget b']);
});

it('starts a rollout that waited for the API server as soon as the pool can be read', async () => {
  const fixture = aFixture();
  fixture.stored = () => {
    throw new Error('the API server is away');
  };
  await pass(30_000);
  expect(fixture.asked).toEqual([]);

  fixture.stored = undefined;
  await pass(6_000);

  expect(fixture.asked).toEqual(['start b']);
});

it('asks nothing any more when every node is on the config', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.nodes.put(aNode({ current: 'b', desired: 'b', state: 'Done' }));
  await pass(31_000);
  const asked = fixture.asked.length;
  await pass(300_000);

  expect(fixture.asked).toHaveLength(asked);
});

it('tells an open rollout that the pool went back to the config that its nodes are on', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.pools.put(aPool('worker', { configuration: { name: 'a' } }));
  await pass(1_000);

  expect(fixture.asked).toEqual(['start b', 'wake']);
});

it('tells an open rollout that the last node in its way is gone', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.nodes.remove('n1');
  await pass(1_000);

  expect(fixture.asked).toEqual(['start b', 'wake']);
});

it('tries again soon when Temporal is away', async () => {
  const fixture = aFixture();
  fixture.refuses = 'UNAVAILABLE';
  await pass(60_000);
  expect(fixture.asked.length).toBeGreaterThan(10);

  fixture.refuses = undefined;
  await pass(5_000);

  expect(fixture.open.has('worker')).toBe(true);
});

it('folds the changes of many nodes into few wakes', async () => {
  const fixture = aFixture();
  await pass(1_000);

  for (let index = 0; index < 200; index++) {
    fixture.nodes.put(aNode({ name: `joined-${index}` }));
    await pass(5);
  }
  await pass(1_000);

  const wakes = fixture.asked.filter((asked) => asked === 'wake').length;
  expect(wakes).toBeGreaterThanOrEqual(2);
  expect(wakes).toBeLessThanOrEqual(5);
});

describe('a node that falls back to another pool because its own changed', () => {
  const infra = (nodeSelector?: MachineConfigPool['spec']['nodeSelector']): MachineConfigPool =>
    aPool('infra', {
      configuration: { name: 'of-infra' },
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    });

  async function settled(): Promise<Fixture> {
    const fixture = aFixture();
    const roles = ['worker', 'infra'];
    fixture.pools.put(infra());
    fixture.nodes.put(aNode({ roles, current: 'of-infra', desired: 'of-infra', state: 'Done' }));
    await pass(30_000);
    fixture.asked.length = 0;
    await pass(60_000);
    expect(fixture.asked).toEqual([]);
    return fixture;
  }

  it('is rolled by that pool when its own is deleted', async () => {
    const fixture = await settled();

    fixture.pools.remove('infra');
    await pass(1_000);

    expect(fixture.asked).toContain('start b');
  });

  it('is rolled by that pool when the selector of its own changes', async () => {
    const fixture = await settled();

    fixture.pools.put(infra({ matchLabels: { zone: 'elsewhere' } }));
    await pass(1_000);

    expect(fixture.asked).toContain('start b');
  });

  it('goes to a pool that is made for it', async () => {
    const fixture = await settled();
    fixture.pools.remove('infra');
    await pass(30_000);
    fixture.nodes.put(
      aNode({ roles: ['worker', 'infra'], current: 'b', desired: 'b', state: 'Done' }),
    );
    await pass(30_000);
    fixture.asked.length = 0;

    fixture.pools.put(infra());
    await pass(1_000);

    expect(fixture.asked).toEqual(expect.arrayContaining(['start of-infra', 'wake']));
  });
});

describe('what it tells the rollout', () => {
  const cordoned = (name: string) =>
    aNode({ name, current: 'a', desired: 'a', state: 'Done', cordoned: 'person' });

  it('says in which cache it was seen', async () => {
    const fixture = aFixture();
    fixture.nodes.newest = 12;
    await pass(1_000);
    fixture.nodes.newest = 14;
    fixture.pools.newest = 13;
    fixture.nodes.put(aNode({ current: 'a', desired: 'a', state: 'Done', cordoned: 'person' }));
    await pass(1_000);

    expect(fixture.asked).toEqual(['start b', 'wake']);
    expect(fixture.seenIn).toEqual([
      { nodes: 12, pools: 0, policies: 0 },
      { nodes: 12, pools: 0, policies: 0 },
      { nodes: 14, pools: 13, policies: 0 },
    ]);
  });

  it('is told once more when the same happens while it is told', async () => {
    const fixture = aFixture();
    await pass(1_000);
    let answer = (): void => undefined;
    fixture.waking = new Promise((resolve) => {
      answer = resolve;
    });
    const [node] = fixture.nodes.list();
    const changed = cordoned(node?.metadata.name ?? '');
    fixture.nodes.put(changed);
    await pass(1_000);

    if (node !== undefined) fixture.nodes.put(node);
    fixture.nodes.put(changed);
    answer();
    await pass(1_000);

    expect(fixture.asked).toEqual(['start b', 'wake', 'wake']);
  });
});
