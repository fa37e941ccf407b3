import { DrainPods, type Pod, type PodDisruptionBudget } from '../../../../core/drain';

let now: number;
let budgets: PodDisruptionBudget[];

beforeEach(() => {
  now = Date.parse('2026-03-01T10:00:00Z');
  budgets = [];
});

function aPod(name: string, more: Partial<Pod['metadata']> = {}, uid = `uid-${name}`): Pod {
  return {
    metadata: {
      name,
      namespace: 'shop',
      uid,
      labels: { app: 'cart' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'cart', uid: 'o', controller: true },
      ],
      ...more,
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function aBudget(disruptionsAllowed: number): PodDisruptionBudget {
  return {
    metadata: { name: 'cart', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'cart' } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1 },
  };
}

function draining(drain: object = {}, isOnlyNode = false): DrainPods {
  return new DrainPods({ timeoutSeconds: 60, onTimeout: 'Fail', ...drain }, 0, {
    node: 'n',
    isOnlyNode: () => isOnlyNode,
    budgets: () => budgets,
    missingDaemonSets: () => [],
    now: () => now,
  });
}

const names = (pods: readonly Pod[]): readonly string[] =>
  pods.map(({ metadata }) => metadata.name);

it('is not done before it has seen the pods', () => {
  const pods = draining();
  expect(pods.isDone()).toBe(false);

  pods.listed([]);

  expect(pods.isDone()).toBe(true);
});

it('waits for the list of the pods until it has it, and says why it does not come', () => {
  const pods = draining();
  const said = () => pods.progress();
  expect(said()).toEqual({
    evicted: 0,
    remaining: [{ blocker: 'the pods of node n are not listed yet' }],
    remainingCount: 0,
  });

  pods.failed('list pods: not permitted');
  expect(said().remaining).toEqual([
    { blocker: 'the pods of node n cannot be listed: list pods: not permitted' },
  ]);

  pods.heard();
  pods.listed([aPod('a')]);
  pods.failed('the connection was reset');
  expect(said()).toMatchObject({ remaining: [{ pod: 'shop/a' }], remainingCount: 1 });
});

it('says that its cache of the pods is old, once it is older than a broken connection makes it', () => {
  const pods = draining();
  const remaining = () => pods.progress().remaining;
  pods.heard();
  pods.listed([aPod('a')]);
  pods.failed('the connection was reset');
  now += 9_999;
  pods.failed('watch pods: not permitted');
  expect(remaining()).toMatchObject([{ pod: 'shop/a' }]);

  now += 1;
  expect(remaining()).toMatchObject([
    { blocker: 'the pods of node n cannot be followed: watch pods: not permitted' },
    { pod: 'shop/a' },
  ]);
  expect(pods.progress().remainingCount).toBe(1);

  pods.heard();
  expect(remaining()).toMatchObject([{ pod: 'shop/a' }]);
});

it('asks each pod once, and no more at once than it may', () => {
  const pods = draining();
  pods.listed([aPod('a'), aPod('b'), aPod('c')]);

  expect(names(pods.take(2))).toEqual(['a', 'b']);
  expect(names(pods.take(2))).toEqual(['c']);
  expect(pods.take(2)).toEqual([]);
});

it('asks a refused pod again after five seconds, or as soon as its budget allows', () => {
  const pods = draining();
  const pod = aPod('a');
  pods.listed([pod]);
  pods.take(1);
  budgets = [aBudget(0)];
  pods.answered(pod, { outcome: 'refused', said: 'no' });

  pods.budgetsChanged();
  expect(pods.take(1)).toEqual([]);
  expect(pods.nextDueMs()).toBe(5_000);

  now += 5_000;
  expect(names(pods.take(1))).toEqual(['a']);
  pods.answered(pod, { outcome: 'refused', said: 'no' });

  budgets = [aBudget(1)];
  pods.budgetsChanged();
  expect(names(pods.take(1))).toEqual(['a']);
});

it('asks soon again, ever less often, when its budget allows it already as the answer comes', () => {
  const pods = draining();
  const pod = aPod('a');
  budgets = [aBudget(1)];
  pods.listed([pod]);
  const pauses: number[] = [];
  for (let refusals = 0; refusals < 6; refusals += 1) {
    expect(names(pods.take(1))).toEqual(['a']);
    pods.answered(pod, { outcome: 'refused', said: 'no' });
    pauses.push(pods.nextDueMs());
    now += pods.nextDueMs();
  }

  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000]);
});

it('asks again when the server says so, but never at once and never later than after five seconds', () => {
  const pods = draining();
  const pod = aPod('a');
  pods.listed([pod]);
  const pauses = [0, 0.1, 2, 60].map((retryAfterSeconds) => {
    expect(names(pods.take(1))).toEqual(['a']);
    pods.answered(pod, { outcome: 'refused', said: 'slow down', retryAfterSeconds });
    const pauseMs = pods.nextDueMs();
    now += pauseMs;
    return pauseMs;
  });

  expect(pauses).toEqual([250, 250, 2_000, 5_000]);
});

it('names the budget that refuses, or what the API said when no budget explains it', () => {
  const pods = draining();
  const pod = aPod('a');
  pods.listed([pod]);
  pods.take(1);
  pods.answered(pod, { outcome: 'refused', said: 'too many requests' });
  expect(pods.progress().remaining).toEqual([
    { pod: 'shop/a', blocker: 'waiting for pod shop/a (too many requests)' },
  ]);

  budgets = [aBudget(0)];

  expect(pods.progress().remaining[0]?.blocker).toBe(
    'waiting for pod shop/a (budget shop/cart allows 0 disruptions; owner StatefulSet shop/cart)',
  );
});

it('is over when its node has become the only one of the cluster, whatever is on it', () => {
  const pods = draining({}, true);
  pods.listed([aPod('a'), aPod('b')]);

  expect(pods.isDone()).toBe(true);
  expect(pods.left()).toBe(2);
});

it('counts a pod of the same name with another UID as another pod', () => {
  const pods = draining();
  pods.listed([aPod('a', {}, 'first')]);
  pods.take(1);
  pods.answered(aPod('a', {}, 'first'), { outcome: 'gone' });
  // Only the watch shows it: the server may have refused for another reason.
  expect(pods.isDone()).toBe(false);
  pods.changed(aPod('a', {}, 'first'), true);
  expect(pods.isDone()).toBe(true);

  pods.changed(aPod('a', {}, 'second'), false);
  expect(pods.isDone()).toBe(false);
  pods.changed(aPod('a', {}, 'first'), true);
  expect(pods.isDone()).toBe(false);
  pods.changed(aPod('a', {}, 'second'), true);
  expect(pods.isDone()).toBe(true);
});

it('waits for a pod that is terminating, and does not ask it', () => {
  const pods = draining();
  pods.listed([aPod('a', { deletionTimestamp: '2026-03-01T09:59:00Z' })]);

  expect(pods.take(1)).toEqual([]);
  expect(pods.isDone()).toBe(false);
});

it('counts from when a pod was asked to go, not from the end of its grace period', () => {
  budgets = [aBudget(0)];
  const pods = draining();
  const grace = { deletionTimestamp: '2026-03-01T10:29:00Z', deletionGracePeriodSeconds: 1_800 };
  const refused = aPod('a');
  pods.listed([refused, aPod('b', grace)]);
  pods.answered(refused, { outcome: 'refused', said: 'its budget' });

  expect(pods.blockers()).toMatchObject([
    { pod: 'shop/b', since: Date.parse('2026-03-01T09:59:00Z') },
    { pod: 'shop/a', since: now },
  ]);
});

it('stops waiting for one that has been terminating for too long, if it is told to', () => {
  const pods = draining({ skipWaitForDeleteTimeoutSeconds: 90 });
  pods.listed([aPod('a', { deletionTimestamp: '2026-03-01T09:59:00Z' })]);
  expect(pods.isDone()).toBe(false);

  now += 31_000;

  expect(pods.isDone()).toBe(true);
  expect(pods.left()).toBe(1);
});

it('asks again when an accepted pod shows no sign of going', () => {
  const pods = draining();
  const pod = aPod('a');
  pods.listed([pod]);
  pods.take(1);
  pods.answered(pod, { outcome: 'accepted' });
  expect(pods.take(1)).toEqual([]);

  now += 5_000;

  expect(names(pods.take(1))).toEqual(['a']);
});

it('drops what a new listing no longer shows', () => {
  const pods = draining();
  pods.listed([aPod('a'), aPod('b')]);

  pods.listed([aPod('b')]);

  expect(names(pods.take(9))).toEqual(['b']);
});
