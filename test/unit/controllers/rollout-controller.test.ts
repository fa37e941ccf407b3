import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { createMetrics } from '../../../controllers/metrics';
import { RolloutController, type RolloutGateway } from '../../../controllers/rollout';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { SeenVersions } from '../../../workflows/contracts/rollout';
import { Objects } from './listed-objects';
import { aNode, aPool } from './objects';

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

interface Fixture {
  /** In order: `wake` and `look`, with the pool. */
  readonly asked: string[];
  readonly open: Set<string>;
  /** What the rollout has to see, by wake. */
  readonly seen: SeenVersions[];
  waking: Promise<void>;
  isTemporalAway: boolean;
  readonly nodes: Objects<Node>;
  readonly pools: Objects<MachineConfigPool>;
}

const CANCELLED = aPool(
  'worker',
  { configuration: { name: 'b' } },
  { annotations: { 'slipway.dev/rollout-cancelled': 'b' } },
);

const stop: AbortController[] = [];

function aFixture(pool = aPool('worker', { configuration: { name: 'b' } })): Fixture {
  const nodes = new Objects<Node>([aNode({ current: 'a', desired: 'a', state: 'Done' })]);
  const pools = new Objects<MachineConfigPool>([pool]);
  const [asked, open, seen] = [[] as string[], new Set<string>(), [] as SeenVersions[]];
  const fixture: Fixture = {
    ...{ asked, open, seen, nodes, pools },
    ...{ waking: Promise.resolve(), isTemporalAway: false },
  };
  const ask = (what: string): void => {
    asked.push(what);
    if (fixture.isTemporalAway) throw new Error('UNAVAILABLE');
  };
  const gateway: RolloutGateway = {
    wake: async (name, versions) => {
      ask(`wake ${name}`);
      seen.push(versions);
      await fixture.waking;
      open.add(name);
    },
    isOpen: async (name) => {
      ask(`look ${name}`);
      return open.has(name);
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

it('wakes the rollout of a pool whose nodes are behind, and looks now and then whether it is open', async () => {
  const fixture = aFixture();

  await pass(21_000);

  expect(fixture.asked).toEqual(['wake worker', 'look worker', 'look worker']);
});

it('starts the rollout again when Temporal has lost it, although nothing changed', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.open.clear();
  await pass(12_000);

  expect(fixture.asked).toEqual(['wake worker', 'look worker', 'wake worker']);
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

it.each<[string, (fixture: Fixture) => void]>([
  [
    'the pool went back to the config that its nodes are on',
    ({ pools }) => pools.put(aPool('worker', { configuration: { name: 'a' } })),
  ],
  ['the last node in its way is gone', ({ nodes }) => nodes.remove('n1')],
  ['it was cancelled', ({ pools }) => pools.put(CANCELLED)],
])('tells the rollout once that %s, so that its PoolRollout shows it', async (_what, happens) => {
  const fixture = aFixture();
  await pass(1_000);

  happens(fixture);
  await pass(60_000);

  expect(fixture.asked).toEqual(['wake worker', 'wake worker']);
});

it('tells an open rollout once that its pool was deleted', async () => {
  const fixture = aFixture();
  await pass(1_000);

  fixture.pools.remove('worker');
  await pass(60_000);

  expect(fixture.asked).toEqual(['wake worker', 'look worker', 'wake worker']);
});

describe('for a pool that waits for a person', () => {
  it('starts no rollout when something happens to a node', async () => {
    const fixture = aFixture(CANCELLED);
    await pass(1_000);

    fixture.nodes.put(aNode({ current: 'a', desired: 'a', state: 'Done', cordoned: 'person' }));
    await pass(120_000);

    expect(fixture.asked).toEqual(['look worker', 'look worker']);
  });

  it('keeps one open while an update has a node', async () => {
    const fixture = aFixture(CANCELLED);
    await pass(1_000);
    fixture.asked.length = 0;

    fixture.nodes.put(aNode({ current: 'a', desired: 'b', state: 'Working', run: 'lost' }));
    fixture.nodes.put(aNode({ name: 'n2' }));
    await pass(1_000);
    fixture.open.clear();
    await pass(11_000);

    expect(fixture.asked).toEqual(['wake worker', 'look worker', 'wake worker']);
  });
});

it('loses no news while Temporal is away, and tries again soon', async () => {
  const fixture = aFixture();
  await pass(1_000);
  fixture.isTemporalAway = true;
  fixture.pools.put(aPool('worker', { configuration: { name: 'a' } }));
  await pass(60_000);
  expect(fixture.asked.length).toBeGreaterThan(10);
  const told = fixture.seen.length;

  fixture.isTemporalAway = false;
  await pass(60_000);

  expect(fixture.seen).toHaveLength(told + 1);
});

it('folds the changes of many nodes into few wakes', async () => {
  const fixture = aFixture();
  await pass(1_000);

  for (let index = 0; index < 200; index++) {
    fixture.nodes.put(aNode({ name: `joined-${index}` }));
    await pass(5);
  }
  await pass(1_000);

  expect(fixture.seen.length).toBeGreaterThanOrEqual(3);
  expect(fixture.seen.length).toBeLessThanOrEqual(6);
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
    fixture.open.clear();
    fixture.asked.length = 0;
    await pass(60_000);
    expect(fixture.asked).toEqual([]);
    return fixture;
  }

  it('is rolled by that pool when its own is deleted', async () => {
    const fixture = await settled();

    fixture.pools.remove('infra');
    await pass(1_000);

    expect(fixture.open).toEqual(new Set(['worker']));
  });

  it('is rolled by that pool when the selector of its own changes', async () => {
    const fixture = await settled();

    fixture.pools.put(infra({ matchLabels: { zone: 'elsewhere' } }));
    await pass(1_000);

    expect(fixture.open).toContain('worker');
  });

  it('goes to a pool that is made for it', async () => {
    const fixture = await settled();
    fixture.pools.remove('infra');
    await pass(1_000);
    fixture.nodes.put(
      aNode({ roles: ['worker', 'infra'], current: 'b', desired: 'b', state: 'Done' }),
    );
    await pass(30_000);
    fixture.asked.length = 0;

    fixture.pools.put(infra());
    await pass(1_000);

    expect(fixture.asked).toEqual(expect.arrayContaining(['wake infra', 'wake worker']));
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
    fixture.nodes.put(cordoned('n1'));
    await pass(1_000);

    expect(fixture.seen.slice(1)).toEqual([{ nodes: 14, pools: 13, policies: 0 }]);
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

    expect(fixture.asked).toEqual(['wake worker', 'wake worker', 'wake worker']);
  });
});
