import {
  completeChange as completeChangeAt,
  cordonChange,
  refuseHeld,
  releaseChange as releaseChangeAt,
  type Turned,
} from '../../../../activities/cluster/node-changes';
import type { NodeChange } from '../../../../activities/cluster/ports';
import { historyOf } from '../../../../core/history/record';
import { ANNOTATION } from '../../../../core/names';
import { isDone, isTargetedAt } from '../../../../core/node/predicates';
import type { Node, NodeTaint } from '../../../../core/node/types';
import { standingOf } from '../../../../core/rollout/standing';
import type { ReleaseNodeInput } from '../../../../workflows/contracts/cluster';

const OLD = 'rendered-worker-0';
const NEW = 'rendered-worker-1';
const RUN = { id: 'run-0', startedAt: '2026-01-01T00:00:00.000Z' };
const TAKEN = { [ANNOTATION.UPDATE_RUN]: `v1/${RUN.startedAt}/${RUN.id}` };
const STEP = { node: 'n', pool: 'worker', config: NEW, workflowId: 'update-node/n', run: RUN };

function aNode(
  annotations: Readonly<Record<string, string>> = {},
  unschedulable?: boolean,
  taints?: readonly NodeTaint[],
): Node {
  return {
    metadata: { name: 'n', annotations },
    spec: {
      ...(unschedulable === undefined ? {} : { unschedulable }),
      ...(taints === undefined ? {} : { taints }),
    },
  };
}

/** The Node as the API server would store it. */
function applied(node: Node, change: NodeChange | undefined): Node {
  const annotations = { ...node.metadata.annotations };
  for (const [key, value] of Object.entries(change?.annotations ?? {})) {
    if (value === null) delete annotations[key];
    else annotations[key] = value;
  }
  const { unschedulable = node.spec?.unschedulable, taints = node.spec?.taints } = change ?? {};
  return aNode(annotations, unschedulable, taints);
}

/** Its annotations about configs; whose turn it is has tests of its own. */
function saidOf(node: Node): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(node.metadata.annotations ?? {}).filter(
      ([name]) => name !== ANNOTATION.UPDATE_RUN && name !== ANNOTATION.HISTORY,
    ),
  );
}

const done = {
  [ANNOTATION.CURRENT_CONFIG]: OLD,
  [ANNOTATION.DESIRED_CONFIG]: OLD,
  [ANNOTATION.STATE]: 'Done',
  [ANNOTATION.REASON]: '',
};

const NOW = '2026-01-02T00:00:00.000Z';
const releaseChange = (node: Node, input: Turned<ReleaseNodeInput>) =>
  releaseChangeAt(node, input, NOW);

const completeChange = (node: Node, input: Parameters<typeof completeChangeAt>[1]) =>
  completeChangeAt(node, input, NOW);

const cordonInput = { ...STEP, cordon: true, summary: 'reboot' };

const release = (more: Partial<ReleaseNodeInput>): ReleaseNodeInput => ({
  ...STEP,
  outcome: 'failed',
  unreconcilable: false,
  hostIsBack: true,
  reason: 'no space left',
  ...more,
});

it.each([
  ['cordon', (node: Node) => cordonChange(node, cordonInput)],
  ['target', (node: Node) => cordonChange(node, { ...cordonInput, cordon: false })],
  ['complete', (node: Node) => completeChange(node, STEP)],
  ['release failed', (node: Node) => releaseChange(node, release({}))],
  ['release cancelled', (node: Node) => releaseChange(node, release({ outcome: 'cancelled' }))],
  ['release lost', (node: Node) => releaseChange(node, release({ hostIsBack: false }))],
])('%s: doing it again changes nothing', (_name, change) => {
  const start = applied(aNode(done), cordonChange(aNode(done), cordonInput));
  const once = applied(start, change(start));

  expect(change(once)).toBeUndefined();
});

describe('the history of the node', () => {
  const seconds = { Preparing: 2, Draining: 30 };
  const taken = applied(aNode(done), cordonChange(aNode(done), cordonInput));
  const shared = { run: RUN.id, config: NEW, from: OLD, startedAt: RUN.startedAt, endedAt: NOW };

  it.each<[string, NodeChange | undefined, object]>([
    ['was updated', completeChange(taken, { ...STEP, seconds }), { outcome: 'updated', seconds }],
    [
      'failed',
      releaseChange(taken, { ...release({ phase: 'Draining' }), seconds }),
      { outcome: 'failed', phase: 'Draining', reason: 'no space left', seconds },
    ],
    [
      'was left out of service',
      releaseChange(taken, release({ hostIsBack: false })),
      { outcome: 'failed', reason: 'no space left', stuck: true },
    ],
    [
      'was cancelled',
      releaseChange(taken, release({ outcome: 'cancelled' })),
      { outcome: 'cancelled', reason: 'no space left' },
    ],
  ])('says in the write that gives it back that it %s', (_how, change, kept) => {
    expect(historyOf(applied(taken, change)).records).toEqual([{ ...shared, ...kept }]);
  });

  it('says in the write that takes it that the update before was lost', () => {
    const later = { id: 'run-1', startedAt: '2026-01-01T01:00:00.000Z' };
    const change = cordonChange(taken, { ...cordonInput, run: later });

    expect(historyOf(applied(taken, change)).records).toEqual([
      { run: RUN.id, config: NEW, startedAt: RUN.startedAt, outcome: 'lost' },
    ]);
  });
});

const CORDON_TAINT = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

describe('the taint of a node that will be drained', () => {
  const rack = { key: 'example.com/rack', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' };
  const ours = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
  const tainted = applied(aNode(done), cordonChange(aNode(done), cordonInput));
  const node = aNode(tainted.metadata.annotations, true, [rack, ours]);
  const cancelled = release({ outcome: 'cancelled' });

  it.each<[string, NodeChange | undefined]>([
    ['completes it', completeChange(node, STEP)],
    ['says that it failed', releaseChange(node, release({}))],
    ['leaves it out of service', releaseChange(node, release({ hostIsBack: false }))],
    ['gives it back', releaseChange(node, cancelled)],
  ])('goes in the write that %s, and no other taint does', (_what, change) => {
    expect(change?.taints).toEqual([rack]);
    expect(change?.annotations).not.toEqual({});
  });

  it.each<[string, NodeChange | undefined]>([
    ['targets it', cordonChange(aNode(done, false, [ours]), { ...cordonInput, cordon: false })],
    [
      'gives it back until its drain is tried later',
      releaseChange(node, { ...cancelled, isTriedLater: true }),
    ],
    [
      'completes one without it',
      completeChange(aNode(tainted.metadata.annotations, true, [rack]), STEP),
    ],
  ])('is not touched by the write that %s', (_what, change) => {
    expect(change).toBeDefined();
    expect(change).not.toHaveProperty('taints');
  });

  it('stays beside that of the cordon, which goes with the cordon', () => {
    const cordoned = cordonChange(aNode(done, false, [rack, ours]), cordonInput);
    expect(cordoned?.taints).toEqual([rack, ours, CORDON_TAINT]);

    const both = aNode(tainted.metadata.annotations, true, [CORDON_TAINT, rack, ours]);
    expect(completeChange(both, STEP)?.taints).toEqual([rack]);
    expect(releaseChange(both, { ...cancelled, isTriedLater: true })?.taints).toEqual([rack, ours]);
    const stuck = releaseChange(both, release({ hostIsBack: false }));
    expect(stuck?.taints).toEqual([CORDON_TAINT, rack]);
  });

  it('goes also where all else is said already', () => {
    const completed = applied(node, completeChange(node, STEP));
    const late = aNode(completed.metadata.annotations, false, [ours]);

    expect(completeChange(late, STEP)).toEqual({ annotations: {}, taints: [] });
  });
});

it('cordons and targets together, and leaves current config alone', () => {
  expect(cordonChange(aNode(done), cordonInput)).toEqual({
    annotations: {
      ...TAKEN,
      [ANNOTATION.DESIRED_CONFIG]: NEW,
      [ANNOTATION.STATE]: 'Working',
      [ANNOTATION.CORDONED_BY]: 'update-node/n',
    },
    unschedulable: true,
    taints: [CORDON_TAINT],
  });
});

it('only targets a node whose plan needs no drain', () => {
  expect(cordonChange(aNode(done), { ...cordonInput, cordon: false })).toEqual({
    annotations: { ...TAKEN, [ANNOTATION.DESIRED_CONFIG]: NEW, [ANNOTATION.STATE]: 'Working' },
  });
});

it.each([true, false])('refuses a node that a person cordoned (cordon: %s)', (cordon) => {
  expect(() => cordonChange(aNode(done, true), { ...cordonInput, cordon })).toThrow(
    /^node n is cordoned, and not by Slipway/,
  );
});

describe('the hold of a person', () => {
  const held = { ...done, [ANNOTATION.HELD_FOR]: NEW, [ANNOTATION.HELD_REASON]: 'skipped: disk' };

  it('keeps the node from its config', () => {
    expect(() => refuseHeld(aNode(held), STEP)).toThrow(
      expect.objectContaining({
        name: 'HeldByUser',
        message: `node n is held for ${NEW} (skipped: disk); retry it to let it be updated`,
      }) as Error,
    );
  });

  it('keeps it from no other config, and from no way back', () => {
    expect(() => refuseHeld(aNode(held), { config: OLD })).not.toThrow();
    expect(() => refuseHeld(aNode(held), { config: NEW, isGoingBack: true })).not.toThrow();
  });
});

it('cordons a node that is held once more while it rolls back: that is what the person wants', () => {
  const held = { ...done, [ANNOTATION.STATE]: 'Working', [ANNOTATION.HELD_FOR]: NEW };

  const change = cordonChange(aNode(held), { ...cordonInput, isGoingBack: true });

  expect(change?.unschedulable).toBe(true);
});

it('uncordons a node without a change of its hold', () => {
  const held = { ...done, [ANNOTATION.HELD_FOR]: NEW, [ANNOTATION.HELD_REASON]: 'skipped' };

  const change = releaseChange(aNode(held), release({ outcome: 'cancelled' }));

  expect(saidOf(applied(aNode(held), change))).toEqual(held);
});

it('takes a cordon over that an earlier update left', () => {
  const left = aNode({ ...done, [ANNOTATION.CORDONED_BY]: 'update-node/n' }, true);

  expect(cordonChange(left, cordonInput)?.unschedulable).toBeUndefined();
});

it.each([
  ['whoever wrote it last', ['kubectl'], undefined],
  ['us', ['slipway-cluster-worker'], false],
  ['us and another', ['kubectl', 'slipway-cluster-worker'], undefined],
  ['us and somebody forgotten', ['ancient-changes', 'slipway-cluster-worker'], false],
  ['somebody forgotten and another', ['before-first-apply', 'kubectl'], undefined],
  ['somebody whom the API server has forgotten', ['ancient-changes'], false],
  ['somebody before the API server kept writers', ['before-first-apply'], false],
  ['nobody', [], false],
])('takes a marked cordon for that of %s', (_whose, managers, uncordons) => {
  const cordoned = applied(aNode(done), cordonChange(aNode(done), cordonInput));
  const managedFields = managers.map((manager) => ({
    ...{ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } },
  }));
  const others = { manager: 'kubelet', fieldsV1: { 'f:spec': {} } };
  const metadata = { ...cordoned.metadata, managedFields: [others, ...managedFields] };

  const change = completeChange({ ...cordoned, metadata }, STEP);

  expect(change?.unschedulable).toBe(uncordons);
  expect(change?.annotations).toMatchObject({ [ANNOTATION.CORDONED_BY]: null });
});

it('keeps of a node that a person has cordoned anew no mark, also when its host is not back', () => {
  const cordoned = applied(aNode(done), cordonChange(aNode(done), cordonInput));
  const managedFields = [{ manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } }];
  const anew = { ...cordoned, metadata: { ...cordoned.metadata, managedFields } };

  const change = releaseChange(anew, release({ hostIsBack: false }));

  expect(change?.annotations).toMatchObject({ [ANNOTATION.CORDONED_BY]: null });
  expect(change?.unschedulable).toBeUndefined();
});

describe('a node that a person cordons, too', () => {
  const cordoned = applied(aNode(done), cordonChange(aNode(done), cordonInput));
  const managedFields = ['slipway-cluster-worker', 'argocd'].map((manager) => ({
    ...{ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } },
  }));
  const shared = { ...cordoned, metadata: { ...cordoned.metadata, managedFields } };

  it('is taken by no update', () => {
    expect(() => cordonChange(shared, cordonInput)).toThrow(/is cordoned, and not by Slipway/);
  });

  it('keeps the mark while its host is not rolled back: the person may change their mind', () => {
    const change = releaseChange(shared, release({ hostIsBack: false }));

    expect(applied(shared, change).metadata.annotations).toMatchObject({
      [ANNOTATION.CORDONED_BY]: 'update-node/n',
    });
  });
});

it('never uncordons what a person cordoned', () => {
  const theirs = aNode(done, true);

  expect(completeChange(theirs, STEP)).not.toHaveProperty('unschedulable');
  expect(releaseChange(theirs, release({}))).not.toHaveProperty('unschedulable');
});

it('clears a hold for the config that the node is on now, and no other', () => {
  const heldFor = (config: string) =>
    completeChange(
      aNode({ ...done, [ANNOTATION.HELD_FOR]: config, [ANNOTATION.HELD_REASON]: 'skipped' }),
      STEP,
    )?.annotations;

  expect(heldFor(NEW)).toMatchObject({ [ANNOTATION.HELD_FOR]: null });
  expect(heldFor('rendered-worker-9')).not.toHaveProperty([ANNOTATION.HELD_FOR]);
});

it('cordons a node once more that is uncordoned during its rollback', () => {
  const working = { ...done, [ANNOTATION.STATE]: 'Working' };
  const again = { ...cordonInput, isGoingBack: true as const };

  expect(cordonChange(aNode(working), again)).toMatchObject({ unschedulable: true });
});

it('cordons a node whose host could not be rolled back, also when its plan needed no drain', () => {
  const targeted = applied(
    aNode(done),
    cordonChange(aNode(done), { ...cordonInput, cordon: false }),
  );

  const released = applied(targeted, releaseChange(targeted, release({ hostIsBack: false })));

  expect(released.spec?.unschedulable).toBe(true);
  expect(released.metadata.annotations).toMatchObject({
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.CORDONED_BY]: 'update-node/n',
  });
});

describe('an update that ends before the host has answered', () => {
  // The Node names another run, or none.
  const untouched = { hostIsBack: false, run: { id: 'run-1', startedAt: '2026-01-01T00:05:00Z' } };
  const cancelled = release({ outcome: 'cancelled', ...untouched });

  it('says on a node that an earlier update left cordoned why it is', () => {
    const left = applied(aNode(done), cordonChange(aNode(done), cordonInput));

    const released = applied(left, releaseChange(left, cancelled));

    expect(released.spec?.unschedulable).toBe(true);
    expect(saidOf(released)).toEqual({
      ...saidOf(left),
      [ANNOTATION.STATE]: 'Degraded',
      [ANNOTATION.REASON]: 'no space left',
    });
    expect(releaseChange(released, cancelled)).toBeUndefined();
  });

  it('says no more than that it is over of a node that is unavailable for another reason', () => {
    const over = { [ANNOTATION.UPDATE_RUN]: 'v1/2026-01-01T00:05:00Z/run-1/over' };

    expect(releaseChange(aNode(done), cancelled)).toEqual({ annotations: over });
  });

  it('takes no node out of service when it fails instead: it never had a grant', () => {
    const released = applied(aNode(done), releaseChange(aNode(done), release(untouched)));

    expect(released.spec?.unschedulable).not.toBe(true);
    expect(released.metadata.annotations).toMatchObject({ [ANNOTATION.STATE]: 'Degraded' });
    const left = applied(aNode(done), cordonChange(aNode(done), cordonInput));
    expect(applied(left, releaseChange(left, release(untouched))).spec?.unschedulable).toBe(true);
  });
});

it('a cancelled update of a node that no longer matched its config says so again', () => {
  const drifted = { ...done, [ANNOTATION.CURRENT_CONFIG]: NEW, [ANNOTATION.DESIRED_CONFIG]: NEW };
  const node = aNode({ ...drifted, [ANNOTATION.STATE]: 'Degraded' });
  const cordoned = applied(node, cordonChange(node, cordonInput));

  const released = applied(
    cordoned,
    releaseChange(cordoned, release({ outcome: 'cancelled', reason: 'it was cancelled' })),
  );

  expect(released.metadata.annotations).toMatchObject({
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.REASON]: `it was cancelled; the node still does not match its config ${NEW}`,
  });
  expect(released.spec?.unschedulable).toBe(false);
});

it('a cancelled update that never targeted the node keeps what an earlier failure says', () => {
  const failedEarlier = aNode({
    ...done,
    [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-bad',
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.REASON]: 'the disk is full',
  });

  const change = releaseChange(failedEarlier, release({ outcome: 'cancelled' }));
  expect(saidOf(applied(failedEarlier, change))).toEqual(saidOf(failedEarlier));
});

describe('an update that never targeted the node, and whose host has settled', () => {
  const hostIsOn = done[ANNOTATION.CURRENT_CONFIG];
  const cancelled = release({ outcome: 'cancelled', hostIsOn });
  const onItsWay = {
    ...done,
    [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-lost',
    [ANNOTATION.STATE]: 'Working',
  };

  it.each([
    ['on its way', { ...onItsWay, [ANNOTATION.CORDONED_BY]: 'update-node/n' }, true],
    ['on its way, and in service', onItsWay, false],
    [
      'cordoned because its host was not back',
      {
        ...{ ...onItsWay, [ANNOTATION.CORDONED_BY]: 'update-node/n' },
        [ANNOTATION.STATE]: 'Degraded',
        [ANNOTATION.REASON]: 'the host could not be rolled back, so the node is cordoned',
      },
      true,
    ],
  ])('gives back one that says it is %s as what it is', (_what, says, isCordoned) => {
    const node = aNode(says, isCordoned);

    const released = applied(node, releaseChange(node, cancelled));

    expect(saidOf(released)).toEqual(done);
    expect(released.spec?.unschedulable).toBe(false);
  });

  it('leaves one alone of whose host nobody knows what it is on', () => {
    const node = aNode({ ...onItsWay, [ANNOTATION.CORDONED_BY]: 'update-node/n' }, true);

    const change = releaseChange(node, release({ outcome: 'cancelled' }));

    expect(saidOf(applied(node, change))).toEqual(onItsWay);
  });

  it.each([
    ['of another config', 'rendered-worker-lost'],
    ['of its own', 'rendered-worker-1'],
  ])(
    'says what its host has committed for an update that was lost: by the end %s',
    (_what, desired) => {
      const mark = {
        [ANNOTATION.CORDONED_BY]: 'update-node/n',
        [ANNOTATION.DESIRED_CONFIG]: desired,
      };
      const node = aNode({ ...onItsWay, ...mark }, true);

      const ended = release({ outcome: 'cancelled', hostIsOn: 'rendered-worker-lost' });
      const change = releaseChange(node, ended);

      const released = applied(node, change);
      expect(saidOf(released)).toEqual({
        ...done,
        [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-lost',
        [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-lost',
      });
      expect(released.spec?.unschedulable).toBe(false);
    },
  );

  it('says what its host has committed also when the next update fails and rolls back to it', () => {
    const node = aNode(onItsWay);

    const change = releaseChange(node, release({ hostIsOn: 'rendered-worker-lost' }));

    expect(applied(node, change).metadata.annotations).toMatchObject({
      [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-lost',
      [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-1',
      [ANNOTATION.STATE]: 'Degraded',
    });
  });

  it.each(['failed', 'cancelled'] as const)(
    'says what its host has committed also of one that was never configured: %s',
    (outcome) => {
      const node = aNode({
        [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-1',
        [ANNOTATION.STATE]: 'Working',
      });

      const change = releaseChange(node, release({ outcome, hostIsOn: 'rendered-worker-1' }));

      expect(applied(node, change).metadata.annotations).toMatchObject({
        [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-1',
        [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-1',
        [ANNOTATION.STATE]: outcome === 'failed' ? 'Degraded' : 'Done',
      });
    },
  );

  it('takes nobody out of service when it never had a grant and the host is not settled', () => {
    const [lost, run] = ['one', 'two'].map((id, minute) => ({
      ...{ id, startedAt: `2026-01-01T00:0${minute}:00.000Z` },
    }));
    const mark = { [ANNOTATION.UPDATE_RUN]: `v1/${lost?.startedAt}/${lost?.id}` };
    const node = aNode({ ...onItsWay, ...mark });
    const left = { hostIsBack: false, ...(run === undefined ? {} : { run }) };

    const cancelledLeft = releaseChange(node, release({ outcome: 'cancelled', ...left }));
    expect(saidOf(applied(node, cancelledLeft))).toEqual(saidOf(node));
    expect(cancelledLeft).not.toHaveProperty('unschedulable');
    const failed = applied(node, releaseChange(node, release(left)));
    expect(failed.spec?.unschedulable).not.toBe(true);
    expect(failed.metadata.annotations).toMatchObject({
      [ANNOTATION.STATE]: 'Degraded',
      [ANNOTATION.REASON]: 'no space left',
    });
    expect(releaseChange(failed, release(left))).toBeUndefined();
  });
});

it('a cancelled first update leaves a node without a config as it came', () => {
  const fresh = aNode();
  const cordoned = applied(fresh, cordonChange(fresh, cordonInput));

  const released = applied(cordoned, releaseChange(cordoned, release({ outcome: 'cancelled' })));

  expect(saidOf(released)).toEqual({ [ANNOTATION.REASON]: '' });
  expect(released.spec?.unschedulable).toBe(false);
});

it('says Unreconcilable when that is what it was, and cuts a long reason', () => {
  const change = releaseChange(
    aNode(done),
    release({ unreconcilable: true, reason: 'x'.repeat(5000) }),
  );

  expect(change?.annotations?.[ANNOTATION.STATE]).toBe('Unreconcilable');
  expect(change?.annotations?.[ANNOTATION.REASON]).toHaveLength(2000);
});

const SUPERSEDED = /may not write node n any more/;

describe('the run of an update', () => {
  const first = { id: 'one', startedAt: '2026-01-01T00:00:00.000Z' };
  const second = { id: 'two', startedAt: '2026-01-01T00:05:00.000Z' };
  const cancelled = release({ outcome: 'cancelled' });

  it.each([
    ['cordon', (node: Node) => cordonChange(node, { ...cordonInput, run: first })],
    ['complete', (node: Node) => completeChange(node, { ...STEP, run: first })],
    ['release failed', (node: Node) => releaseChange(node, release({ run: first }))],
    ['release cancelled', (node: Node) => releaseChange(node, { ...cancelled, run: first })],
    [
      'release lost',
      (node: Node) => releaseChange(node, release({ hostIsBack: false, run: first })),
    ],
  ])('%s: is refused when a later one has taken the node', (_name, change) => {
    const taken = applied(aNode(done), cordonChange(aNode(done), { ...cordonInput, run: second }));

    expect(() => change(taken)).toThrow(SUPERSEDED);
  });

  it('does not cordon again a node that it has uncordoned without having changed it', () => {
    const given = applied(aNode(done), releaseChange(aNode(done), { ...cancelled, run: first }));

    expect(() => cordonChange(given, { ...cordonInput, run: first })).toThrow(SUPERSEDED);
  });

  it('is over for those before, too, when it found the node on its config', () => {
    const onNew = completeChange(aNode(done), STEP);
    const node = applied(aNode(done), onNew);
    const completed = applied(node, completeChange(node, { ...STEP, run: second }));

    expect(() => cordonChange(completed, { ...cordonInput, run: first })).toThrow(SUPERSEDED);
  });
});

describe('when the node is tried again', () => {
  const told = aNode({
    ...done,
    [ANNOTATION.RETRY_FOR]: NEW,
    [ANNOTATION.DRAIN_TIMED_OUT]: '2026-01-01T00:00:00Z',
  });
  const cancelled = { outcome: 'cancelled', reason: 'a person cancelled it' } as const;
  const kept = {
    [ANNOTATION.RETRY_FOR]: NEW,
    [ANNOTATION.DRAIN_TIMED_OUT]: '2026-01-01T00:00:00Z',
  };

  it.each<[string, Partial<ReleaseNodeInput>, Readonly<Record<string, string>>]>([
    ['a cancelled one keeps what a person told', cancelled, kept],
    [
      'a try that a person asked for ends with its failure',
      {},
      { [ANNOTATION.DRAIN_TIMED_OUT]: '2026-01-01T00:00:00Z' },
    ],
    [
      'one whose drain timed out says when',
      { ...cancelled, isTriedLater: true },
      { ...kept, [ANNOTATION.DRAIN_TIMED_OUT]: NOW },
    ],
    [
      'one that a person cancelled in Temporal is held',
      { ...cancelled, holds: true },
      {
        [ANNOTATION.DRAIN_TIMED_OUT]: '2026-01-01T00:00:00Z',
        [ANNOTATION.HELD_FOR]: NEW,
        [ANNOTATION.HELD_REASON]: 'a person cancelled it',
      },
    ],
  ])('%s', (_what, how, says) => {
    const node = applied(told, cordonChange(told, cordonInput));
    const { annotations = {} } = applied(node, releaseChange(node, release(how))).metadata;
    const keys: readonly string[] = [
      ...[ANNOTATION.RETRY_FOR, ANNOTATION.DRAIN_TIMED_OUT],
      ...[ANNOTATION.HELD_FOR, ANNOTATION.HELD_REASON],
    ];

    expect(
      Object.fromEntries(Object.entries(annotations).filter(([key]) => keys.includes(key))),
    ).toEqual(says);
  });

  it('is forgotten once it is on its config', () => {
    expect(completeChange(told, STEP)?.annotations).toMatchObject({
      [ANNOTATION.RETRY_FOR]: null,
      [ANNOTATION.DRAIN_TIMED_OUT]: null,
    });
  });

  it.each<[string, Partial<ReleaseNodeInput>]>([
    ['cancelled', { outcome: 'cancelled' }],
    ['failed', {}],
    ['out of service', { hostIsBack: false }],
    ['tried later', { outcome: 'cancelled', isTriedLater: true }],
  ])('says that the run is over, whatever has become of it: %s', (_how, ended) => {
    const over = `${TAKEN[ANNOTATION.UPDATE_RUN]}/over`;

    const untaken = releaseChange(aNode(done), release(ended));
    expect(untaken?.annotations).toMatchObject({ [ANNOTATION.UPDATE_RUN]: over });
    const taken = applied(aNode(done), cordonChange(aNode(done), cordonInput));
    expect(releaseChange(taken, release(ended))?.annotations).toMatchObject({
      [ANNOTATION.UPDATE_RUN]: over,
    });
  });
});

it('cuts a long reason between two characters: half of one would not be stored as it is', () => {
  const reason = `${'x'.repeat(1_999)}\u{1f600} and more`;
  const change = releaseChange(aNode(), release({ outcome: 'cancelled', holds: true, reason }));

  expect(change?.annotations?.[ANNOTATION.HELD_REASON]).toBe('x'.repeat(1_999));
});

describe('a node with an image that MCO has built for its pool', () => {
  const IMAGE = 'registry.example.com/os@sha256:1';
  const layered = aNode({
    ...done,
    [ANNOTATION.CURRENT_IMAGE]: IMAGE,
    [ANNOTATION.DESIRED_IMAGE]: IMAGE,
  });
  const images = ({ metadata: { annotations = {} } }: Node) =>
    [ANNOTATION.CURRENT_IMAGE, ANNOTATION.DESIRED_IMAGE].map((key) => annotations[key]);
  const taken = applied(layered, cordonChange(layered, cordonInput));

  it('is told to run a config without one', () => {
    expect(images(taken)).toEqual([IMAGE, undefined]);
    expect(isTargetedAt(taken, NEW)).toBe(true);
    expect(isDone(taken)).toBe(false);
  });

  it.each([
    ['taken', taken],
    ['not taken: its host was on the config', layered],
  ])('has none once it is done (%s)', (_case, node) => {
    const complete = applied(node, completeChange(node, STEP));

    expect(images(complete)).toEqual([undefined, undefined]);
    expect(standingOf(complete, { target: NEW })).toEqual({ is: 'updated' });
  });

  it.each([
    ['taken', taken],
    ['not taken', layered],
  ])('has failed on the config like any other, and is not taken again (%s)', (_case, node) => {
    const failed = applied(node, releaseChange(node, release({})));

    expect(images(failed)).toEqual([IMAGE, undefined]);
    expect(standingOf(failed, { target: NEW })).toMatchObject({
      ...{ is: 'failed', reason: 'no space left' },
    });
  });

  it('keeps its old image when its update is cancelled', () => {
    const back = applied(taken, releaseChange(taken, release({ outcome: 'cancelled' })));

    expect(images(back)).toEqual([IMAGE, IMAGE]);
    expect(isDone(back)).toBe(true);
  });

  it('has none when its host has committed the config all the same', () => {
    const committed = release({ outcome: 'cancelled', hostIsOn: NEW });

    const back = applied(taken, releaseChange(taken, committed));

    expect(images(back)).toEqual([undefined, undefined]);
    expect(isDone(back)).toBe(true);
  });
});
