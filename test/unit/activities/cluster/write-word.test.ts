import { createWriteWord } from '../../../../activities/cluster/write-word';
import type { ActivityRun, NodeChange, PoolChange } from '../../../../activities/cluster/ports';
import { ANNOTATION, LABEL } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import type { Word } from '../../../../workflows/contracts/rollout';
import { aPool } from '../../core/pool/builders';
import { B, cordoned, done, failed, old } from '../../core/rollout/rollout-pool';
import { pictureOf } from './picture-of';

const held = { [ANNOTATION.HELD_FOR]: B, [ANNOTATION.HELD_REASON]: 'skipped: disk' };

const INFRA = 'node-role.kubernetes.io/infra';
const infra = aPool({ nodeSelector: { matchLabels: { [INFRA]: '' } } }, { name: 'infra' });

const SAID_MS = Date.parse('2029-06-01T12:00:00Z');

interface World {
  readonly node?: Node;
  readonly label?: string;
  readonly pool?: MachineConfigPool;
  readonly attempt?: number;
  /** As the cache shows it; absent = as it is. */
  readonly shown?: MachineConfigPool;
}

/** The pool of all workers. */
function poolWith(spec: object = {}, annotations: Readonly<Record<string, string>> = {}) {
  const { metadata, ...rest } = aPool({
    nodeSelector: { matchLabels: { [LABEL.WORKER]: '' } },
    ...spec,
  });
  return { ...rest, metadata: { ...metadata, annotations, resourceVersion: '5' } };
}

/** @returns the change that is written apart from the history, or why none is */
async function say(word: Word, world: World = {}): Promise<object | string | undefined> {
  const written = await told(word, world);
  if (written === undefined || typeof written === 'string') return written;
  const { [ANNOTATION.HISTORY]: history, ...annotations } = written.annotations ?? {};
  expect(history).toBeDefined();
  return { ...written, annotations };
}

async function told(
  word: Word,
  world: World = {},
): Promise<NodeChange | PoolChange | string | undefined> {
  const { pool = poolWith(), label = LABEL.WORKER, attempt = 1, shown = pool } = world;
  const { metadata, ...rest } = world.node ?? old('n');
  const node = {
    ...rest,
    metadata: { ...metadata, resourceVersion: '7', labels: { [label]: '' } },
  };
  let written: NodeChange | PoolChange | undefined;
  const run = {
    ...{ attempt, signal: new AbortController().signal, isAwaited: () => Promise.resolve(true) },
    scheduledAtMs: SAID_MS,
    log: { info: () => undefined },
  } as unknown as ActivityRun;
  const write = createWriteWord({
    run: () => run,
    now: () => 0,
    view: { pools: pictureOf([shown, infra]) },
    nodes: {
      read: () => Promise.resolve(node),
      refresh: () => Promise.resolve(),
      change: (_, decide) => {
        written = decide(node);
        return Promise.resolve(node);
      },
    },
    pools: {
      change: async (_, decide) => {
        written = (await decide(pool)) ?? written;
        return pool;
      },
    },
  });
  try {
    const seen = await write({ pool: 'worker', word });
    expect(seen).toEqual('node' in word ? { nodes: 7 } : { pools: 5 });
    return written;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the history', () => {
  const at = '2029-06-01T12:00:00.000Z';
  const by = 'ada';

  it.each<[Word, World, object]>([
    [{ kind: 'start', by }, {}, { word: 'start', by }],
    [{ kind: 'cancel' }, {}, { word: 'cancel' }],
    [{ kind: 'pause', reason: 'freeze', by }, {}, { word: 'pause', by, reason: 'freeze' }],
    [
      { kind: 'resume', reason: 'over', by },
      { pool: poolWith({ paused: true }) },
      { word: 'resume', by, reason: 'over' },
    ],
    [
      { kind: 'retryNode', node: 'n', by, reason: 'new disk' },
      { node: failed('n') },
      { word: 'retry', by, reason: 'new disk' },
    ],
    [{ kind: 'skipNode', node: 'n', reason: 'disk', by }, {}, { word: 'skip', by, reason: 'disk' }],
    [{ kind: 'cancelNode', node: 'n', reason: 'no' }, {}, { word: 'cancel', reason: 'no' }],
  ])('keeps who said %j and why, in the same write', async (word, world, kept) => {
    const written = (await told(word, world)) as PoolChange;
    const text = written.annotations[ANNOTATION.HISTORY] ?? '';

    expect(JSON.parse(text)).toEqual([{ at, ...kept }]);
  });

  it('names the person also where the word stands', async () => {
    const pausing: Word = { kind: 'pause', reason: 'freeze', by };
    const skipping: Word = { kind: 'skipNode', node: 'n', reason: 'disk', by };

    expect(await say(pausing)).toMatchObject({
      annotations: { [ANNOTATION.PAUSED_REASON]: 'freeze (ada)' },
    });
    expect(await say(skipping)).toMatchObject({
      annotations: { [ANNOTATION.HELD_REASON]: 'skipped: disk (ada)' },
    });
  });
});

describe('a word about the pool', () => {
  const isStarted = { [ANNOTATION.ROLLOUT_STARTED]: B };
  const started = (config: string) => ({
    annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: null, [ANNOTATION.ROLLOUT_STARTED]: config },
  });

  it.each<[string, Word, World, unknown]>([
    [
      'pauses it',
      { kind: 'pause', reason: 'freeze' },
      {},
      { paused: true, annotations: { [ANNOTATION.PAUSED_REASON]: 'freeze' } },
    ],
    [
      'pauses no paused pool',
      { kind: 'pause', reason: 'again' },
      { pool: poolWith({ paused: true }, { [ANNOTATION.PAUSED_REASON]: 'freeze' }) },
      'pool worker is already paused (freeze)',
    ],
    [
      'pauses it once, also when the first answer was lost',
      { kind: 'pause', reason: 'freeze' },
      { pool: poolWith({ paused: true }, { [ANNOTATION.PAUSED_REASON]: 'freeze' }) },
      undefined,
    ],
    [
      'resumes it',
      { kind: 'resume', reason: 'over' },
      { pool: poolWith({ paused: true }) },
      { paused: false, annotations: { [ANNOTATION.PAUSED_REASON]: null } },
    ],
    ['resumes no other', { kind: 'resume', reason: 'over' }, {}, 'pool worker is not paused'],
    [
      'is written already where the answer to an attempt before was lost',
      { kind: 'resume', reason: 'over' },
      { attempt: 2 },
      undefined,
    ],
    [
      'cancels the rollout of its config',
      { kind: 'cancel' },
      {},
      { annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: B, [ANNOTATION.ROLLOUT_STARTED]: null } },
    ],
    [
      'cancels it once',
      { kind: 'cancel' },
      { pool: poolWith({}, { [ANNOTATION.ROLLOUT_CANCELLED]: B }) },
      undefined,
    ],
    [
      'cancels nothing where no config is rendered',
      { kind: 'cancel' },
      { pool: poolWith({ configuration: {} }) },
      undefined,
    ],
    ['starts it', { kind: 'start' }, {}, started(B)],
    [
      'starts it again after it was cancelled',
      { kind: 'start' },
      { pool: poolWith({}, { [ANNOTATION.ROLLOUT_CANCELLED]: B, ...isStarted }) },
      started(B),
    ],
    [
      'starts it before its first config is rendered',
      { kind: 'start' },
      { pool: poolWith({ configuration: {} }) },
      started('the first rendered config'),
    ],
    ['starts it once', { kind: 'start' }, { pool: poolWith({}, isStarted) }, undefined],
  ])('%s', async (_, word, world, expected) => {
    expect(await say(word, world)).toEqual(expected);
  });
});

describe('a word about a node', () => {
  const retry: Word = { kind: 'retryNode', node: 'n' };
  const skip: Word = { kind: 'skipNode', node: 'n', reason: 'disk' };
  const cleared = {
    [ANNOTATION.HELD_FOR]: null,
    [ANNOTATION.HELD_REASON]: null,
    [ANNOTATION.DRAIN_TIMED_OUT]: null,
  };

  it.each<[string, Word, World, unknown]>([
    [
      'retries a failed one, which counts until that has ended',
      retry,
      { node: failed('n') },
      { annotations: { ...cleared, [ANNOTATION.RETRY_FOR]: B } },
    ],
    [
      'lets a held one go',
      retry,
      { node: old('n', { annotations: held }) },
      { annotations: cleared },
    ],
    [
      'retries a held one that had failed before',
      retry,
      { node: failed('n', { annotations: held }) },
      { annotations: { ...cleared, [ANNOTATION.RETRY_FOR]: B } },
    ],
    [
      'lets no held one go before its update is taken back',
      retry,
      { node: cordoned('n', 'r1', { annotations: held }) },
      'n is held, and is still being taken back: try again when that has ended',
    ],
    [
      'does not wait for the turn of one whose drain timed out',
      retry,
      { node: old('n', { annotations: { [ANNOTATION.DRAIN_TIMED_OUT]: '2029-06-01T00:00:00Z' } }) },
      { annotations: cleared },
    ],
    [
      'is written already where the answer to an attempt before was lost',
      retry,
      { node: old('n'), attempt: 2 },
      undefined,
    ],
    [
      'lets no held one go in a second attempt, either, before its update is taken back',
      retry,
      { node: cordoned('n', 'r1', { annotations: held }), attempt: 2 },
      'n is held, and is still being taken back: try again when that has ended',
    ],
    [
      'is about the config of the pool, whatever the cache shows',
      skip,
      { shown: poolWith({ configuration: { name: 'rendered-worker-old' } }) },
      {
        annotations: {
          [ANNOTATION.HELD_FOR]: B,
          [ANNOTATION.HELD_REASON]: 'skipped: disk',
          [ANNOTATION.RETRY_FOR]: null,
        },
      },
    ],
    [
      'is not said twice',
      retry,
      { node: failed('n', { annotations: { [ANNOTATION.RETRY_FOR]: B } }) },
      undefined,
    ],
    [
      'retries no running one',
      retry,
      { node: cordoned('n') },
      `n is neither failed nor held on ${B}: its update is running`,
    ],
    [
      'retries no updated one',
      retry,
      { node: done('n') },
      `n is neither failed nor held on ${B}: it is on it`,
    ],
    [
      'skips one, also while its update runs',
      skip,
      { node: cordoned('n') },
      {
        annotations: {
          [ANNOTATION.HELD_FOR]: B,
          [ANNOTATION.HELD_REASON]: 'skipped: disk',
          [ANNOTATION.RETRY_FOR]: null,
        },
      },
    ],
    [
      'skips it once, also when the first answer was lost',
      skip,
      { node: old('n', { annotations: held }) },
      undefined,
    ],
    [
      'skips no held one',
      { ...skip, reason: 'again' },
      { node: old('n', { annotations: held }) },
      'n is already held (skipped: disk)',
    ],
    [
      'skips no updated one',
      skip,
      { node: done('n') },
      `n has nothing to skip: it is on ${B} already`,
    ],
    [
      'holds no node of another pool',
      skip,
      { label: INFRA },
      'node n belongs to pool infra, not to pool worker',
    ],
    [
      'retries no node of no pool',
      retry,
      { label: 'storage' },
      'node n belongs to no pool, not to pool worker',
    ],
    [
      'needs a config',
      skip,
      { pool: poolWith({ configuration: {} }) },
      'pool worker has no rendered config yet',
    ],
  ])('%s', async (_, word, world, expected) => {
    expect(await say(word, world)).toEqual(expected);
  });
});
