import type { ObservedNode, ObservedStatus } from '../../observer/observed';
import { RolloutRecord } from '../../observer/record';
import { Silence, SILENCE_MS, UNANSWERED_MS } from '../../observer/silence';
import { byUpdate, joined, node, on, poolOf, role, rolloutOf } from './objects';

const NEW = 'rendered-worker-b';
const OPEN = ['update-node/a', 'pool-rollout/worker'];

interface Scene {
  readonly record: RolloutRecord;
  blockers: Record<string, string>;
  /** No worker answers for the workflows. */
  away: boolean;
  /** Workflows that ended after the list of running ones was read. */
  readonly ended: Set<string>;
  /** Runs before the answer of a workflow. */
  meanwhile: (id: string) => void;
  look(atMs: number, ids?: readonly string[]): Promise<readonly string[]>;
  silence: Silence;
}

function scene(): Scene {
  const record = new RolloutRecord({});
  record.nodeSeen(node('a', { annotations: on('rendered-worker-a', NEW, 'Working') }), 0);
  record.poolSeen(poolOf('worker', { target: NEW }));
  const made: Scene = {
    record,
    blockers: { 'pool-rollout/worker': 'its nodes' },
    away: false,
    ended: new Set(),
    meanwhile: () => undefined,
    silence: new Silence(record, {
      ask: (id) => {
        made.meanwhile(id);
        if (made.away) return Promise.reject(new Error('no worker'));
        const blocker = made.blockers[id];
        const said = blocker === undefined ? {} : { blocker };
        return Promise.resolve({ runs: !made.ended.has(id), ...said });
      },
    }),
    look: async (atMs, ids = OPEN) => {
      const open = { ids: new Set(ids) };
      const found = await made.silence.look(open, atMs);
      return found.map(({ invariant, subject, text }) => `${invariant} ${subject}: ${text}`);
    },
  };
  return made;
}

const UPDATE_SILENT = 'I6 a: its update waits and does not say for what';

test('an update that shows nothing for a minute, once', async () => {
  const { look } = scene();
  expect(await look(0)).toEqual([]);
  expect(await look(SILENCE_MS - 1)).toEqual([]);
  expect(await look(SILENCE_MS)).toEqual([UPDATE_SILENT]);
  expect(await look(SILENCE_MS + 10_000)).toEqual([]);
});

test('one that stood still before Temporal was away has a moment to go on', async () => {
  const { look, silence } = scene();
  await look(0);
  await look(58_000);
  silence.interrupted(58_000);

  expect(await look(88_000)).toEqual([]);
  expect(await look(88_000 + 14_000)).toEqual([]);
  expect(await look(88_000 + 15_000)).toEqual([UPDATE_SILENT]);
});

test('one that says what it waits for is not silent', async () => {
  const { look, blockers } = scene();
  blockers['update-node/a'] = 'waiting for pod shop/cart-1';
  await look(0);
  expect(await look(SILENCE_MS)).toEqual([]);
});

test('one that has ended when it is asked is not silent', async () => {
  const { look, ended } = scene();
  await look(0);
  ended.add('update-node/a');
  expect(await look(SILENCE_MS)).toEqual([]);
  ended.clear();
  expect(await look(2 * SILENCE_MS)).toEqual([]);
  expect(await look(3 * SILENCE_MS)).toEqual([UPDATE_SILENT]);
});

test.each([
  ['says nothing', false, SILENCE_MS],
  ['does not answer', true, 45_000 + UNANSWERED_MS],
])(
  'one that goes on while the others are asked, and then %s, has another minute',
  async (_what, away, atMs) => {
    const scenery = scene();
    const { record } = scenery;
    await scenery.look(0);
    scenery.away = away;
    await scenery.look(45_000);
    const annotations = on('rendered-worker-a', NEW, 'Working');
    scenery.meanwhile = () => record.nodeSeen(node('a', { ready: false, annotations }), 1);
    const ofIt = (found: readonly string[]) => found.filter((text) => text.startsWith('I6 a'));
    expect(ofIt(await scenery.look(atMs))).toEqual([]);

    scenery.away = false;
    expect(ofIt(await scenery.look(atMs + SILENCE_MS))).toEqual([]);
    expect(ofIt(await scenery.look(atMs + 2 * SILENCE_MS))).toEqual([UPDATE_SILENT]);
  },
);

test('those of a large pool are asked beside each other, and not all at once', async () => {
  const ids = Array.from({ length: 250 }, (_, index) => `update-node/worker-${index}`);
  const asked: string[] = [];
  let open = 0;
  let most = 0;
  const silence = new Silence(new RolloutRecord({}), {
    ask: async (id) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise(setImmediate);
      open -= 1;
      asked.push(id);
      return { runs: true, ...(id.endsWith('7') ? {} : { blocker: 'its reboot' }) };
    },
  });
  const listed = { ids: new Set(ids) };
  await silence.look(listed, 0);

  const found = await silence.look(listed, SILENCE_MS);

  expect(asked.sort()).toEqual([...ids].sort());
  expect(most).toBeGreaterThan(4);
  expect(most).toBeLessThan(20);
  const silent = ids.filter((id) => id.endsWith('7')).map((id) => id.replace('update-node/', ''));
  expect(found.map(({ subject }) => subject)).toEqual(silent);
});

test('one that shows something new has another minute', async () => {
  const { look, record } = scene();
  await look(0);
  record.nodeSeen(
    node('a', { ready: false, annotations: on('rendered-worker-a', NEW, 'Working') }),
    1,
  );
  expect(await look(SILENCE_MS)).toEqual([]);
  expect(await look(2 * SILENCE_MS)).toEqual([UPDATE_SILENT]);
});

describe('a time in which nobody could look', () => {
  test('does not count, and the time before it does', async () => {
    const { look, silence } = scene();
    await look(0);
    for (const failing of [20_000, 50_000, 80_000]) silence.interrupted(failing);
    expect(await look(100_000)).toEqual([]);
    expect(await look(80_000 + SILENCE_MS - 1)).toEqual([]);
    expect(await look(80_000 + SILENCE_MS)).toEqual([UPDATE_SILENT]);
    silence.interrupted(150_000);
    expect(await look(160_000)).toEqual([]);
    expect(await look(160_000 + SILENCE_MS)).toEqual([]);
  });

  /**
   * Checks every three seconds; `isFailing` says which of them fail. @returns the findings, with their first time
   */
  async function looking(scenery: Scene, isFailing: (count: number) => boolean, untilMs: number) {
    const found: [atMs: number, text: string][] = [];
    for (let count = 0; count * 3_000 <= untilMs; count += 1) {
      const atMs = count * 3_000;
      if (isFailing(count)) scenery.silence.interrupted(atMs);
      else for (const text of await scenery.look(atMs)) found.push([atMs, text]);
    }
    return found;
  }

  test.each([
    ['once in a minute', (count: number) => count % 20 === 19, 63_000],
    ['every other time', (count: number) => count % 2 === 1, 120_000],
  ])('%s hides nothing that is silent', async (_what, isFailing, atMs) => {
    expect(await looking(scene(), isFailing, 300_000)).toEqual([[atMs, UPDATE_SILENT]]);
  });

  test('once in a minute hides no workflow that does not answer', async () => {
    const scenery = scene();
    scenery.away = true;
    const found = await looking(scenery, (count) => count % 20 === 19, 600_000);
    const text = 'waits, and nobody answers who asks for what';
    expect(found.map(([, told]) => told)).toEqual([`I6 a: ${text}`, `I6 worker: ${text}`]);
    // Unanswered from 45 s on; times without a check are added.
    expect(found[0]?.[0]).toBeGreaterThanOrEqual(45_000 + UNANSWERED_MS);
    expect(found[0]?.[0]).toBeLessThan(45_000 + UNANSWERED_MS + SILENCE_MS);
  });
});

describe('one that could not be asked', () => {
  test('is not silent yet, and has a moment to say it when it can be', async () => {
    const scenery = scene();
    await scenery.look(0);
    scenery.away = true;
    for (let at = 45_000; at <= 200_000; at += 5_000) expect(await scenery.look(at)).toEqual([]);
    scenery.away = false;
    expect(await scenery.look(205_000)).toEqual([]);
    expect(await scenery.look(215_000)).toEqual([UPDATE_SILENT]);
  });

  test('for five minutes is reported', async () => {
    const scenery = scene();
    await scenery.look(0);
    scenery.away = true;
    expect(await scenery.look(SILENCE_MS)).toEqual([]);
    expect(await scenery.look(SILENCE_MS + UNANSWERED_MS)).toEqual([
      'I6 a: waits, and nobody answers who asks for what',
      'I6 worker: waits, and nobody answers who asks for what',
    ]);
    expect(await scenery.look(SILENCE_MS + 2 * UNANSWERED_MS)).toEqual([]);
  });
});

test('a rollout that waits and says nothing', async () => {
  const { look, blockers } = scene();
  blockers['update-node/a'] = 'its slot';
  delete blockers['pool-rollout/worker'];
  await look(0);
  expect(await look(SILENCE_MS)).toEqual([
    'I6 worker: its rollout is 1 nodes behind, waits, and does not say for what',
  ]);
});

test('a rollout whose PoolRollout says what it waits for is not silent, while a worker answers', async () => {
  const scenery = scene();
  const { look, record } = scenery;
  scenery.blockers = { 'update-node/a': 'a grant of its pool' };
  record.rolloutSeen(rolloutOf('worker', { blocker: 'n1 failed', waiting: 1 }), 0);
  await look(0);
  expect(await look(SILENCE_MS)).toEqual([]);
  scenery.away = true;
  await look(2 * SILENCE_MS);
  await look(3 * SILENCE_MS);
  expect(await look(4 * SILENCE_MS + UNANSWERED_MS)).toContain(
    'I6 worker: waits, and nobody answers who asks for what',
  );
});

test('a rollout all of whose updates wait, and which does not say for what', async () => {
  const { look, blockers, record } = scene();
  blockers['update-node/a'] = 'a grant of its pool';
  delete blockers['pool-rollout/worker'];
  record.rolloutSeen(rolloutOf('worker', { waiting: 0 }), 0);
  await look(0);
  expect(await look(SILENCE_MS)).toEqual([]);
  record.rolloutSeen(rolloutOf('worker', { waiting: 1 }), 0);
  await look(SILENCE_MS + 1);
  expect(await look(2 * SILENCE_MS + 1)).toEqual([
    'I6 worker: its rollout is 1 nodes behind, waits, and does not say for what',
  ]);
});

describe('a grant', () => {
  const UNUSED = 'I6 b: it has a grant of pool worker, and no update of it runs';
  const granted = (found: ObservedNode | undefined, name = 'b'): Scene => {
    const made = scene();
    made.blockers['update-node/a'] = 'its reboot';
    const grants = [{ node: name, run: 'run-b', serves: false }];
    made.record.rolloutSeen(rolloutOf('worker', { grants }), 0);
    if (found !== undefined) made.record.nodeSeen(found, 1);
    return made;
  };

  test.each<[string, ObservedNode | undefined]>([
    ['of a node that serves', node('b', { annotations: on(NEW) })],
    ['of a node that is gone', undefined],
  ])('%s is not left without its run for a minute', async (_what, found) => {
    const { look } = granted(found);
    await look(0);
    expect(await look(SILENCE_MS - 1)).toEqual([]);
    expect(await look(SILENCE_MS)).toEqual([UNUSED]);
  });

  test.each<[string, Partial<ObservedNode>, readonly string[]]>([
    ['with an update of its node', {}, [...OPEN, 'update-node/b']],
    ['whose node is cordoned', { unschedulable: true }, OPEN],
    ['whose node is down', { ready: false }, OPEN],
    ['of a rollout that has ended', {}, []],
  ])('%s is left alone', async (_what, parts, ids) => {
    const { look } = granted(node('b', { annotations: on(NEW), ...parts }));
    await look(0, ids);
    const found = await look(SILENCE_MS, ids);
    expect(found).not.toContain(UNUSED);
  });
});

test('a pool that is behind without a rollout is named; not when it is paused or was cancelled', async () => {
  const { look, record } = scene();
  await look(0, []);
  expect(await look(SILENCE_MS, [])).toEqual([
    'I6 worker: 1 nodes are behind, and no rollout runs',
  ]);
  for (const parts of [
    { paused: true },
    { annotations: { 'slipway.dev/rollout-cancelled': NEW } },
  ]) {
    record.poolSeen(poolOf('worker', { target: NEW, ...parts }));
    expect(await look(SILENCE_MS, [])).toEqual([]);
    expect(await look(3 * SILENCE_MS, [])).toEqual([]);
  }
});

describe('a node belongs to the pool that its labels name, whatever it says that it is on', () => {
  const INFRA = 'rendered-infra-a';
  const BEHIND = 'I6 infra: 1 nodes are behind, and no rollout runs';

  /** A pool of workers that is done, and a pool of infra nodes with this node. */
  function beside(found: ObservedNode, parts: Partial<ObservedStatus> = {}): Scene {
    const made = scene();
    made.record.nodeSeen(node('a', { annotations: on(NEW) }), 1);
    made.record.poolSeen(poolOf('infra', { target: INFRA, ...parts }));
    made.record.nodeSeen(found, 1);
    return made;
  }

  const newcomer = joined('b', { labels: role('infra') });
  const moved = node('b', { labels: role('worker', 'infra'), annotations: on(NEW) });

  test.each([
    ['has only joined and says nothing of configs', newcomer],
    ['has only joined, and its kubelet is not Ready', { ...newcomer, ready: false }],
    ['has moved here from the config of another pool', moved],
    ['has moved here from an older one', { ...moved, annotations: on('rendered-worker-a') }],
  ])('one that %s is behind, and nobody cares', async (_what, found) => {
    const { look } = beside(found);
    expect(await look(0, [])).toEqual([]);
    expect(await look(SILENCE_MS - 1, [])).toEqual([]);
    expect(await look(SILENCE_MS, [])).toEqual([BEHIND]);
  });

  test('it has a minute from when it joins, however long its pool was at rest', async () => {
    const { look, record } = beside(node('b', { labels: role('infra'), annotations: on(INFRA) }));
    for (const atMs of [0, 5 * SILENCE_MS]) expect(await look(atMs, [])).toEqual([]);
    record.nodeSeen(joined('c', { labels: role('infra') }), 2);
    expect(await look(6 * SILENCE_MS, [])).toEqual([]);
    expect(await look(7 * SILENCE_MS - 1, [])).toEqual([]);
    expect(await look(7 * SILENCE_MS, [])).toEqual([BEHIND]);
  });

  test.each([
    ['has joined', newcomer],
    ['has moved here', moved],
  ])('the rollout of one that %s must say what it waits for', async (_what, found) => {
    const id = 'pool-rollout/infra';
    const { look, blockers } = beside(found);
    blockers[id] = 'nothing is left to start; 1 node cannot be taken now: b (not Ready)';
    await look(0, [id]);
    expect(await look(SILENCE_MS, [id])).toEqual([]);
    delete blockers[id];
    await look(2 * SILENCE_MS, [id]);
    expect(await look(3 * SILENCE_MS, [id])).toEqual([
      'I6 infra: its rollout is 1 nodes behind, waits, and does not say for what',
    ]);
  });

  test.each<[string, ObservedNode, Partial<ObservedStatus>]>([
    ['in a pool that is paused', newcomer, { paused: true }],
    ['in one that is not rendered yet', newcomer, { target: '' }],
    [
      'in one whose rollout was cancelled',
      moved,
      { annotations: { 'slipway.dev/rollout-cancelled': INFRA } },
    ],
    ['in one that asks for no labels', newcomer, { nodeSelector: {} }],
    ['that has come to the config', { ...moved, annotations: on(INFRA) }, {}],
    ['in no pool', joined('b', { labels: role('edge') }), {}],
  ])('nothing is said of one %s', async (_what, found, parts) => {
    const { look } = beside(found, parts);
    await look(0, []);
    expect(await look(3 * SILENCE_MS, [])).toEqual([]);
  });
});

test('a cordon of ours on a node on which nothing works', async () => {
  const { look, record } = scene();
  record.nodeSeen(node('a', { unschedulable: true, annotations: byUpdate('a') }), 1);
  record.poolSeen(poolOf('worker'));
  await look(0, []);
  expect(await look(SILENCE_MS, [])).toEqual([
    'I2 a: nothing works on it, and it carries a cordon of update-node/a',
  ]);
});

test('a taint of ours on a node on which nothing works, and not of others', async () => {
  const { look, record } = scene();
  const taints = ['slipway.dev/update', 'node.kubernetes.io/unschedulable'];
  record.nodeSeen(node('a', { taints }), 1);
  record.poolSeen(poolOf('worker'));
  await look(0, []);
  expect(await look(SILENCE_MS, [])).toEqual([
    'I2 a: nothing works on it, and it carries taint slipway.dev/update',
  ]);
});

describe('the taint of a node that will be drained', () => {
  const OLD = 'rendered-worker-a';
  const ROLLING = ['pool-rollout/worker'];
  const LEFT = 'I2 b: no rollout will drain it, and it carries taint UpdateInProgress';
  const tainted = (annotations: ObservedNode['annotations'], name = 'b') =>
    node(name, { annotations, taints: ['UpdateInProgress'] });

  const seen = async (
    annotations: ObservedNode['annotations'],
    pool: Partial<ObservedStatus> = {},
    ids: readonly string[] = ROLLING,
  ): Promise<readonly string[]> => {
    const { look, record } = scene();
    record.nodeGone('a');
    record.nodeSeen(tainted(annotations), 1);
    record.poolSeen(poolOf('worker', { target: NEW, ...pool }));
    await look(0, ids);
    const found = await look(SILENCE_MS, ids);
    return found.filter((one) => one.startsWith('I2'));
  };

  const held = { 'slipway.dev/held-for': NEW };
  const cancelled = { annotations: { 'slipway.dev/rollout-cancelled': NEW } };

  test.each<[string, ReturnType<typeof seen>]>([
    ['waits for a rollout', seen(on(OLD))],
    ['failed on another config', seen(on(OLD, OLD, 'Degraded'))],
    ['is updated', seen(on(OLD, NEW, 'Degraded'), {}, [...ROLLING, 'update-node/b'])],
  ])('is right on one that %s', async (_what, found) => {
    expect(await found).toEqual([]);
  });

  test.each<[string, ReturnType<typeof seen>]>([
    ['is on the target', seen(on(NEW))],
    ['has failed on it', seen(on(OLD, NEW, 'Degraded'))],
    ['is held for it', seen({ ...on(OLD), ...held })],
    ['is in a pool that is paused', seen(on(OLD), { paused: true })],
    ['is in a pool whose rollout was cancelled', seen(on(OLD), cancelled)],
    ['is in a pool without a rollout', seen(on(OLD), {}, [])],
    ['is in no pool', seen(on(OLD), { nodeSelector: {} })],
  ])('planted: is left on one that %s', async (_what, found) => {
    expect(await found).toEqual([LEFT]);
  });

  test('is no news while one node after the other loses it', async () => {
    const { look, record } = scene();
    record.nodeGone('a');
    for (const name of ['b', 'c']) record.nodeSeen(tainted(on(NEW), name), 1);
    await look(0, ROLLING);
    record.nodeSeen(node('c', { annotations: on(NEW) }), 2);
    expect(await look(SILENCE_MS, ROLLING)).toEqual([]);
    expect(await look(2 * SILENCE_MS, ROLLING)).toEqual([LEFT]);
  });
});
