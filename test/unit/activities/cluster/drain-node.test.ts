import { createDrainNode } from '../../../../activities/cluster/drain-node';
import type { ClusterPorts, PodPort } from '../../../../activities/cluster/ports';
import type { KubeClient } from '../../../../adapters/kube/client';
import { NodePods } from '../../../../adapters/kube/node-pods';
import type { Pod } from '../../../../core/drain';
import { fail } from '../../../../core/errors';
import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { DrainProgress } from '../../../../core/drain';

const START = Date.parse('2026-03-01T10:00:00Z');
const INPUT = {
  ...{ node: 'n', pool: 'worker', config: 'rendered-worker-1', workflowId: 'update-node/n' },
  run: { id: 'run-1', startedAt: '2026-03-01T09:59:00.000Z' },
  drain: { timeoutSeconds: 3_600, onTimeout: 'RetryLater' },
  startedAt: '2026-03-01T10:00:00.000Z',
} as const;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
});
afterEach(() => {
  jest.useRealTimers();
});

function cordoned(byUs = true): Node {
  const annotations = byUs ? { [ANNOTATION.CORDONED_BY]: INPUT.workflowId } : {};
  return { metadata: { name: 'n', annotations }, spec: { unschedulable: true } };
}

function aPod(name: string): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'cart', uid: 'o' };
  return {
    metadata: {
      ...{ name, namespace: 'shop', uid: `uid-of-${name}` },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: {},
    status: { phase: 'Running' },
  };
}

/** The API server's answer about the Node, and its delay. */
interface Look {
  readonly node: Node;
  readonly takesMs: number;
}

/** Drains a node whose pods end at once after an eviction; the cache is as old as the drain. */
function draining(
  pods: readonly Pod[],
  looks: readonly Look[],
  { answerMs = 0, drain = {} }: { readonly answerMs?: number; readonly drain?: object } = {},
) {
  const coming = [...looks];
  const happened: string[] = [];
  let left = (_pod: Pod): void => undefined;
  const follow: PodPort['follow'] = (_node, handler, until) =>
    new Promise((resolve) => {
      until.addEventListener('abort', () => {
        resolve();
      });
      left = (pod) => {
        handler.changed(pod, true);
      };
      handler.listed(pods);
    });
  const read = async (): Promise<Node> => {
    const look = coming.shift();
    if (look === undefined) throw new Error('one look too many');
    happened.push('look');
    await new Promise((resolve) => setTimeout(resolve, look.takesMs));
    return look.node;
  };
  const asked: Parameters<PodPort['evict']>[1][] = [];
  const evict: PodPort['evict'] = async ({ name }, options) => {
    happened.push(`eviction of ${name}`);
    asked.push(options);
    left(aPod(name));
    if (answerMs > 0) await new Promise((resolve) => setTimeout(resolve, answerMs));
    return { outcome: 'accepted' };
  };
  return { ...start({ follow, evict }, read, drain), happened, asked };
}

/** A drain through these ports; the Node in memory is cordoned. */
function start(
  pods: Pick<PodPort, 'follow' | 'evict'>,
  read: () => Promise<Node>,
  drain: object = {},
  startedAt: string = INPUT.startedAt,
) {
  const beganAt = performance.now();
  const heartbeats: DrainProgress[] = [];
  const shown: string[] = [];
  const reasons: string[] = [];
  const logged: unknown[] = [];
  const ports = {
    view: {
      nodes: {
        ...{ synced: Promise.resolve(), get: () => cordoned(), subscribe: neverCalls },
        list: () => [],
      },
      budgets: { list: () => [], subscribe: neverCalls },
    },
    nodes: { read },
    pods,
    events: {
      onNode: (_node: unknown, event: { readonly reason: string; readonly message: string }) => {
        reasons.push(event.reason);
        if (event.reason === 'FailedToDrain') shown.push(event.message);
        return Promise.resolve();
      },
    },
    run: () => ({
      ...{ attempt: 1, signal: new AbortController().signal },
      temporalNow: () => START + performance.now() - beganAt,
      log: {
        ...{ debug: ignored, warn: ignored },
        info: (message: string, fields: object) => logged.push({ message, ...fields }),
      },
      heartbeat: (progress: DrainProgress) => heartbeats.push(progress),
    }),
    now: () => Date.now(),
  };
  const drainNode = createDrainNode(ports as unknown as ClusterPorts);
  const drained = drainNode({ ...INPUT, startedAt, drain: { ...INPUT.drain, ...drain } });
  return { drained, heartbeats, shown, reasons, logged };
}

const neverCalls = () => ignored;

function ignored(): void {
  return undefined;
}

describe('a check of the node before its pods are evicted', () => {
  it('is one for all evictions of a moment', async () => {
    const pods = [aPod('a'), aPod('b')];
    const { drained, happened } = draining(pods, [{ node: cordoned(), takesMs: 4_000 }]);

    await jest.advanceTimersByTimeAsync(10_000);

    await expect(drained).resolves.toEqual({ evicted: 2, left: 0 });
    expect(happened).toEqual(['look', 'eviction of a', 'eviction of b']);
  });

  it('is taken anew when it was on its way for so long that it does not hold any more', async () => {
    const { drained, happened, heartbeats } = draining(
      [aPod('a')],
      [
        { node: cordoned(), takesMs: 6_000 },
        { node: cordoned(), takesMs: 10 },
      ],
    );

    await jest.advanceTimersByTimeAsync(20_000);

    await expect(drained).resolves.toEqual({ evicted: 1, left: 0 });
    expect(happened).toEqual(['look', 'look', 'eviction of a']);
    expect(heartbeats.flatMap(({ remaining }) => remaining)).toContainEqual({
      pod: 'shop/a',
      blocker: 'waiting for pod shop/a (node n may have changed since it was read)',
    });
  });

  it('lets no eviction go when a person has taken the node while it was on its way', async () => {
    const { drained, happened } = draining(
      [aPod('a')],
      [
        { node: cordoned(), takesMs: 60_000 },
        { node: cordoned(false), takesMs: 10 },
      ],
    );
    const refused = expect(drained).rejects.toMatchObject({ name: 'CordonedByUser' });

    await jest.advanceTimersByTimeAsync(120_000);

    await refused;
    expect(happened).toEqual(['look', 'look']);
  });
});

describe('an attempt that comes when the time of the drain is over', () => {
  const LONG_AGO = '2026-03-01T08:00:00.000Z';

  function late(pods: readonly Pod[] | undefined) {
    const follow: PodPort['follow'] = (_node, handler, until) =>
      new Promise((resolve) => {
        until.addEventListener('abort', () => {
          resolve();
        });
        if (pods !== undefined) setTimeout(() => handler.listed(pods), 2_000);
      });
    const evict: PodPort['evict'] = () => Promise.reject(new Error('too late for that'));
    return start({ follow, evict }, () => Promise.resolve(cordoned()), {}, LONG_AGO);
  }

  it('sees first that the pods have left meanwhile', async () => {
    const { drained } = late([]);

    await jest.advanceTimersByTimeAsync(10_000);

    await expect(drained).resolves.toEqual({ evicted: 0, left: 0 });
  });

  it('evicts none of those that have not, and names them', async () => {
    const { drained, shown } = late([aPod('a')]);
    const refused = expect(drained).rejects.toMatchObject({ name: 'DrainTimedOut' });

    await jest.advanceTimersByTimeAsync(10_000);

    await refused;
    expect(shown).toEqual([expect.stringContaining('shop/a')]);
  });

  it('waits a minute for the list, and says that it did not come', async () => {
    const { drained, shown } = late(undefined);
    const refused = expect(drained).rejects.toMatchObject({ name: 'DrainTimedOut' });

    await jest.advanceTimersByTimeAsync(70_000);

    await refused;
    expect(shown).toEqual([expect.stringContaining('not listed yet')]);
  });
});

it('ends when every eviction that it asked for is answered, not before', async () => {
  const looks = [{ node: cordoned(), takesMs: 10 }];
  const { drained, happened } = draining([aPod('a')], looks, { answerMs: 20_000 });
  const ended = jest.fn();
  void drained.then(ended);

  await jest.advanceTimersByTimeAsync(15_000);
  expect(happened).toEqual(['look', 'eviction of a']);
  expect(ended).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(10_000);

  await expect(drained).resolves.toEqual({ evicted: 1, left: 0 });
});

it.each([
  ['of its policy', { gracePeriodSeconds: 0 }],
  ['of each pod itself when its policy names none', {}],
])('gives pods the grace period %s', async (_whose, drain) => {
  const looks = [{ node: cordoned(), takesMs: 10 }];
  const { drained, asked } = draining([aPod('a')], looks, { drain });

  await jest.advanceTimersByTimeAsync(10_000);

  await drained;
  expect(asked).toEqual([{ ...drain, signal: expect.any(AbortSignal) as AbortSignal }]);
});

it('keeps its time and asks again when the clock of its worker goes hours ahead, and back', async () => {
  const hours = (count: number) => START + count * 3_600_000;
  let left = (): void => undefined;
  const follow: PodPort['follow'] = (_node, handler, until) =>
    new Promise((resolve) => {
      until.addEventListener('abort', () => {
        resolve();
      });
      left = () => {
        handler.changed(aPod('a'), true);
      };
      handler.listed([aPod('a')]);
    });
  let asked = 0;
  const evict: PodPort['evict'] = () => {
    asked += 1;
    return Promise.resolve({ outcome: 'refused', said: 'its budget' });
  };
  const { drained, heartbeats } = start({ follow, evict }, () => Promise.resolve(cordoned()));
  const outcome = jest.fn();
  drained.then(outcome, outcome);

  for (const clock of [hours(5), hours(-5)]) {
    await jest.advanceTimersByTimeAsync(10_000);
    jest.setSystemTime(clock);
    const before = { asked, beats: heartbeats.length };
    await jest.advanceTimersByTimeAsync(20_000);
    expect(asked).toBeGreaterThan(before.asked);
    expect(heartbeats.length).toBeGreaterThan(before.beats);
    expect(outcome).not.toHaveBeenCalled();
  }
  left();
  await expect(drained).resolves.toEqual({ evicted: 0, left: 0 });
});

it('names a pod that takes its time to go while its grace period lasts, once it has taken long', async () => {
  const grace = { deletionTimestamp: '2026-03-01T10:29:50Z', deletionGracePeriodSeconds: 1_800 };
  const { metadata, ...pod } = aPod('a');
  let left = (): void => undefined;
  const follow: PodPort['follow'] = (_node, handler, until) =>
    new Promise((resolve) => {
      until.addEventListener('abort', () => {
        resolve();
      });
      left = () => {
        handler.changed(aPod('a'), true);
      };
      handler.listed([{ metadata: { ...metadata, ...grace }, ...pod }]);
    });
  const evict = () => Promise.reject(new Error('it is going already'));
  const { drained, logged } = start({ follow, evict }, () => Promise.resolve(cordoned()));

  await jest.advanceTimersByTimeAsync(20_000);
  left();

  await expect(drained).resolves.toEqual({ evicted: 0, left: 0 });
  expect(logged).toContainEqual({
    ...{ message: 'drain is waiting', node: 'n' },
    reason:
      'waiting for pod shop/a (terminating since 2026-03-01T09:59:50Z; owner ReplicaSet shop/cart)',
  });
});

it('says why it does not know the pods of the node, all the time and at its end', async () => {
  const refused = fail('ApiForbidden', 'list pods: pods is forbidden', { code: 403 });
  const client = { list: () => Promise.reject(refused) };
  const log = { debug: ignored, info: ignored, warn: ignored, error: ignored };
  const pods = new NodePods(client as unknown as KubeClient, log);
  const { drained, heartbeats, shown, reasons } = start(pods, () => Promise.resolve(cordoned()));
  const blocker = 'the pods of node n cannot be listed: list pods: pods is forbidden';
  const message = `node n was not drained within 3600 s: ${blocker}`;
  const timedOut = expect(drained).rejects.toMatchObject({ name: 'DrainTimedOut', message });

  await jest.advanceTimersByTimeAsync(60_000);
  expect(heartbeats.at(-1)).toEqual({ evicted: 0, remaining: [{ blocker }], remainingCount: 0 });
  await jest.advanceTimersByTimeAsync(3_600_000);

  await timedOut;
  expect(shown).toContain(message);
  expect(reasons).toEqual(['Drain', 'DrainThresholdExceeded', 'FailedToDrain']);
});
