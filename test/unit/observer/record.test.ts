/** Planted violations: each is found by its name, and what only looks like one is not. */

import type { ObservedNode, ObservedPod } from '../../observer/observed';
import { RolloutRecord } from '../../observer/record';
import { byUpdate, node, on, role, rolloutOf } from './objects';

const OLD = 'rendered-worker-a';
const NEW = 'rendered-worker-b';
const WORKING = on(OLD, NEW, 'Working');

/** Each change comes `everyMs` after the one before. */
function judge(
  changes: readonly ObservedNode[],
  limits = {},
  everyMs = 20_000,
): readonly (readonly [string, string])[] {
  const record = new RolloutRecord(limits);
  changes.forEach((change, index) => record.nodeSeen(change, index * everyMs));
  return record.found.map(({ invariant, text }) => [invariant, text]);
}

describe('I1, never too many nodes unavailable', () => {
  const limits = { maxUnavailable: 1 };
  const taken = (name: string, parts: Partial<ObservedNode> = {}) =>
    node(name, {
      unschedulable: true,
      ...parts,
      annotations: { ...WORKING, ...byUpdate(name) },
    });

  test('each further node that is taken is a violation, the rollback is none', () => {
    const found = judge(
      [
        ...['a', 'b', 'c'].map((name) => node(name)),
        ...[taken('a'), taken('b'), taken('c'), node('c'), node('b'), taken('b')],
      ],
      limits,
    );
    expect(found.map(([, text]) => text.slice(0, 1))).toEqual(['b', 'c', 'b']);
  });

  test.each([
    ['is not Ready', { ready: false }],
    ['is cordoned by a person', { unschedulable: true }],
  ])('a node that %s counts once every picture shows it', (_what, parts) => {
    const changes = [node('a'), node('b'), node('a', parts), taken('b')];

    expect(judge(changes, limits, 16_000)).toEqual([
      ['I1', 'b: 2 nodes unavailable, 1 allowed: a, b'],
    ]);
    expect(judge(changes, limits, 14_000)).toEqual([]);
  });

  test('two that Slipway takes count at once', () => {
    const changes = [node('a'), node('b'), taken('a'), taken('b')];
    expect(judge(changes, limits, 1)).toHaveLength(1);
  });

  test('what goes down by itself, or by a person, is no fault', () => {
    const gone = [node('c', { ready: false }), node('d', { unschedulable: true })];
    expect(judge([node('a'), node('c'), node('d'), taken('a'), ...gone], limits)).toEqual([]);
  });

  test('what goes down without a cordon while its update is under way is taken', () => {
    const acting = (ready: boolean) => node('b', { ready, annotations: WORKING });
    const found = judge([node('a'), acting(true), taken('a'), acting(false)], limits);
    expect(found).toEqual([['I1', 'b: 2 nodes unavailable, 1 allowed: a, b']]);
  });

  test('a node that is down already is not cordoned for nothing, unless an update left it so', () => {
    const away = { ready: false, annotations: on(OLD) };
    const failed = { ready: false, annotations: on(OLD, NEW, 'Degraded') };
    const judged = (before: Parameters<typeof node>[1]) =>
      judge([node('a', { unschedulable: true }), node('b', before), taken('b')], limits);

    expect(judged(away)).toHaveLength(1);
    expect(judged(failed)).toEqual([]);
    expect(judge([node('b', away), taken('b', { ready: false })], limits)).toEqual([]);
  });

  test('the control plane keeps its quorum, whatever is allowed', () => {
    const labels = role('control-plane');
    const three = ['a', 'b', 'c'].map((name) => node(name, { labels }));
    const away = node('a', { labels, ready: false });
    const cordoned = (name: string) => taken(name, { labels });

    expect(judge([...three, cordoned('a'), node('a', { labels }), cordoned('b')])).toEqual([]);
    expect(judge([...three, cordoned('b'), away])).toEqual([]);
    expect(judge([...three, away, cordoned('b')], { maxUnavailable: 3 })).toEqual([
      ['I1', 'b: 2 of 3 control-plane nodes unavailable, 1 allowed: a, b'],
    ]);
    expect(judge([...three, away, cordoned('b')], {}, 1)).toEqual([]);
  });

  test('of many nodes the first ten are named', () => {
    const names = Array.from({ length: 13 }, (_, index) => `n${index + 10}`);
    const changes = [...names.map((name) => node(name)), ...names.map((name) => taken(name))];
    const [, last] = judge(changes, limits).at(-1) ?? [];
    expect(last).toBe(
      'n22: 13 nodes unavailable, 1 allowed: n10, n11, n12, n13, n14, n15, n16, n17, n18, n19 and 3 more',
    );
  });

  test('one after the other is as it should be', () => {
    const changes = [node('a'), node('b'), taken('a'), node('a'), taken('b'), node('b')];
    expect(judge(changes, limits)).toEqual([]);
  });
});

describe('I1, never too many grants', () => {
  const grant = (name: string, serves = false) => ({ node: name, run: `run-${name}`, serves });

  const given = (
    grants: readonly ReturnType<typeof grant>[],
    nodes: readonly ObservedNode[] = [],
    limits: { readonly maxUnavailable?: number } = { maxUnavailable: 2 },
  ): readonly string[] => {
    const record = new RolloutRecord(limits);
    for (const name of ['a', 'b', 'c']) record.nodeSeen(node(name), 0);
    for (const one of nodes) record.nodeSeen(one, 1_000);
    for (const list of [grants.slice(0, 2), grants, grants]) {
      record.rolloutSeen(rolloutOf('worker', { grants: list }), 2_000);
    }
    return record.found.map(({ invariant, text }) => `${invariant} ${text}`);
  };

  const three = ['a', 'b', 'c'].map((name) => grant(name));

  test('those that take nodes out of service are counted, each once', () => {
    expect(given(three)).toEqual(['I1 worker: 3 grants to go out of service, 2 allowed: a, b, c']);
  });

  test.each<[string, readonly string[]]>([
    ['for an update that takes nothing out', given([grant('a'), grant('b'), grant('c', true)])],
    ['for a node that is out already', given(three, [node('c', { ready: false })])],
    ['for one that was a moment ago', given(three, [node('c', { ready: false }), node('c')])],
    ['for a node that is not watched', given([grant('a'), grant('b'), grant('z')])],
    ['where nobody has said how many there may be', given(three, [], {})],
  ])('not one %s', (_what, found) => {
    expect(found).toEqual([]);
  });
});

describe("I3, people's cordons", () => {
  const byPerson = node('a', { unschedulable: true });

  test('a cordon that goes together with our words was removed by us', () => {
    expect(judge([byPerson, node('a', { annotations: on(NEW) })])).toEqual([
      ['I3', "a: a person's cordon was removed by who updates the node"],
    ]);
  });

  test('a cordon that gets our mark was taken over', () => {
    const taken = node('a', { unschedulable: true, annotations: byUpdate('a') });
    expect(judge([byPerson, taken])).toEqual([['I3', "a: a person's cordon was taken over"]]);
  });

  test('a person may take it away, and we may take ours away', () => {
    const ours = node('a', { unschedulable: true, annotations: { ...WORKING, ...byUpdate('a') } });
    expect(judge([byPerson, node('a')])).toEqual([]);
    expect(judge([node('a'), ours, node('a', { annotations: on(NEW) })])).toEqual([]);
  });

  describe('beside ours', () => {
    const ours = { unschedulable: true, annotations: { ...WORKING, ...byUpdate('a') } };
    const shared = { ...ours, cordonAppliedBy: ['argocd'] };

    test('a cordon that goes together with our words was removed by us', () => {
      expect(judge([node('a', ours), node('a', shared), node('a')])).toEqual([
        ['I3', "a: a person's cordon was removed by who updates the node"],
      ]);
    });

    test('it may stay, the person may take it away, or want it no longer', () => {
      const stays = node('a', { ...shared, annotations: on(NEW) });
      const opened = node('a', { annotations: ours.annotations });
      expect(judge([node('a', shared), stays])).toEqual([]);
      expect(judge([node('a', shared), opened])).toEqual([]);
      expect(judge([node('a', shared), node('a', ours), node('a')])).toEqual([]);
    });
  });
});

describe('I3, pods', () => {
  const pod = (parts: Partial<ObservedPod>): ObservedPod => ({
    name: 'shop/cart-1',
    app: 'cart',
    node: 'a',
    ready: true,
    terminating: false,
    ...parts,
  });

  test.each([
    [undefined, ['pod shop/cart-1: it was removed, and not by an eviction']],
    ['EvictionByEvictionAPI', []],
  ])('a pod that goes with reason %s', (disruption, wanted) => {
    const record = new RolloutRecord({});
    record.podSeen('shop/cart-1', pod({}));
    record.podSeen(
      'shop/cart-1',
      pod({ ready: false, terminating: true, ...(disruption === undefined ? {} : { disruption }) }),
    );
    expect(record.found.map(({ text }) => text)).toEqual(wanted);
  });

  test('fewer ready pods than the budget wants', () => {
    const record = new RolloutRecord({ minAvailable: { cart: 2 } });
    record.podSeen('1', pod({ name: '1' }));
    expect(record.found).toEqual([]); // it has not come up yet
    record.podSeen('2', pod({ name: '2' }));
    record.podSeen('2', pod({ name: '2', ready: false }));
    expect(record.found.map(({ text }) => text)).toEqual([
      'cart: 1 pods ready, its budget wants 2',
    ]);
  });
});

describe('I3, a pod that is called not Ready', () => {
  const pod = (name: string, parts: Partial<ObservedPod> = {}): ObservedPod => ({
    ...{ name, app: 'cart', node: 'a', ready: true, terminating: false, ...parts },
  });
  const record = (isNodeReady: boolean): RolloutRecord => {
    const made = new RolloutRecord({ minAvailable: { cart: 1 } });
    made.nodeSeen(node('a', { ready: isNodeReady }), 0);
    made.podSeen('1', pod('1'));
    return made;
  };

  test('on a node that is back: late news of the controller manager, nobody took it away', () => {
    const late = record(true);
    late.podSeen('1', pod('1', { ready: false }));
    expect(late.violations).toEqual([]);
    late.podSeen(
      '1',
      pod('1', { ready: false, terminating: true, disruption: 'EvictionByEvictionAPI' }),
    );
    expect(late.found.map(({ text }) => text)).toEqual(['cart: 0 pods ready, its budget wants 1']);
  });

  test('on a node that is down: it does not serve', () => {
    const down = record(false);
    down.podSeen('1', pod('1', { ready: false }));
    expect(down.found.map(({ text }) => text)).toEqual(['cart: 0 pods ready, its budget wants 1']);
  });

  test('one that has not started yet does not serve', () => {
    const replaced = record(true);
    replaced.podSeen('2', pod('2', { ready: false }));
    replaced.podGone('1');
    expect(replaced.found.map(({ text }) => text)).toEqual([
      'cart: 0 pods ready, its budget wants 1',
    ]);
  });
});

describe('I5, reboots', () => {
  const working = (bootID: string) => node('a', { bootID, annotations: WORKING });
  const done = (bootID: string) => node('a', { bootID, annotations: on(NEW) });
  const back = (bootID: string) => node('a', { bootID, annotations: on(OLD, NEW, 'Degraded') });

  test('none without an order', () => {
    expect(judge([node('a'), node('a', { bootID: 'boot-2' })])).toEqual([
      ['I5', 'a: rebooted, and nothing was ordered'],
    ]);
  });

  test('none after an update that failed, although it says which config it was to have', () => {
    const changes = [node('a'), working('boot-1'), back('boot-1'), back('boot-2')];
    expect(judge(changes)).toEqual([['I5', 'a: rebooted, and nothing was ordered']]);
  });

  test('one of a machine that could not be rolled back, and settles that when it comes up', () => {
    const stuck = (bootID: string) =>
      node('a', {
        ...{ bootID, unschedulable: true },
        annotations: { ...on(OLD, NEW, 'Degraded'), ...byUpdate('a') },
      });
    expect(judge([node('a'), working('boot-1'), stuck('boot-1'), stuck('boot-2')])).toEqual([]);
  });

  test('one for an update that succeeds, and one for the next', () => {
    const next = node('a', {
      bootID: 'boot-3',
      annotations: on(NEW, 'rendered-worker-c', 'Working'),
    });
    expect(judge([node('a'), working('boot-1'), working('boot-2'), done('boot-2'), next])).toEqual(
      [],
    );
  });

  test('not two for an update that succeeds', () => {
    const changes = [node('a'), working('boot-1'), working('boot-2'), working('boot-3')];
    expect(judge(changes)).toEqual([]); // it may be rolling back
    expect(judge([...changes, done('boot-3')])).toEqual([
      ['I5', `a: rebooted 2 times for its update to ${NEW}`],
    ]);
  });

  test('two for one that is rolled back, and then it may be tried again', () => {
    const forthAndBack = [node('a'), working('boot-1'), working('boot-2'), working('boot-3')];
    expect(judge([...forthAndBack, back('boot-3'), working('boot-3'), working('boot-4')])).toEqual(
      [],
    );
    expect(judge([...forthAndBack, working('boot-4')])).toEqual([
      ['I5', `a: rebooted 3 times in one update to ${NEW}`],
    ]);
  });
});

test('I7, a node that is not Ready is on no new config yet', () => {
  const found = judge([
    node('a', { ready: false }),
    node('a', { ready: false, annotations: on(NEW) }),
  ]);
  expect(found).toEqual([['I7', `a: currentConfig became ${NEW} while it was not Ready`]]);
});
