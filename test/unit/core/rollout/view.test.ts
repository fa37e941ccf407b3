import { driftStatus } from '../../../../core/drift';
import { ANNOTATION } from '../../../../core/names';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import { allCandidates, maxUnavailable, selectCandidates } from '../../../../core/pool';
import { observePool, selectFrom, type PoolView } from '../../../../core/rollout';
import { A, aNewNode, aNode, aPool, B, namesOf, updated } from '../pool/builders';

const X = 'rendered-worker-x';
const OURS = 'update-node/n0';

function look(
  nodes: readonly Node[],
  rest: Partial<Parameters<typeof observePool>[0]> = {},
): PoolView {
  return observePool({ pool: aPool(), nodes, ...rest });
}

function names(view: PoolView): readonly string[] {
  return view.candidates.map(({ node }) => node);
}

describe('a node that was seen in service', () => {
  const seen = [{ node: 'back', resourceVersion: '12' }];
  const cordonedAt = (resourceVersion: string): Node => {
    const node = aNode('back', { cordoned: true });
    return { ...node, metadata: { ...node.metadata, resourceVersion } };
  };

  it('takes no slot while the cache of it is older', () => {
    const view = look([cordonedAt('9')], { inService: seen });

    expect(view).toMatchObject({ unavailable: [], outdated: ['back'] });
  });

  it('takes one as soon as the cache is as new, whatever was seen', () => {
    const view = look([cordonedAt('12')], { inService: seen });

    expect(view).toMatchObject({ unavailable: ['back'], outdated: [] });
  });
});

describe('a node that an update has left half done', () => {
  const unfinished = (view: PoolView) =>
    view.candidates.filter((one) => one.unfinished === true).map(({ node }) => node);

  it('is distinguished from one that failed and from one that is broken', () => {
    const view = look([
      aNode('cordoned', { desired: B, state: 'Working', cordonedBy: OURS }),
      aNode('working', { desired: B, state: 'Working', ready: 'False' }),
      updated('done', { cordonedBy: OURS }),
      aNode('failed', { desired: X, state: 'Degraded', cordonedBy: OURS }),
      aNode('odd', { state: '' }),
      aNode('old'),
    ]);

    expect(unfinished(view)).toEqual(['cordoned', 'done', 'working']);
    expect([...names(view)].sort()).toEqual([
      'cordoned',
      'done',
      'failed',
      'odd',
      'old',
      'working',
    ]);
  });

  it('tries the config that its update was for, until it is verified or says that it failed', () => {
    const view = look([
      aNode('cordoned', { desired: B, state: 'Working', cordonedBy: OURS }),
      aNode('to-another', { desired: X, state: 'Working', cordonedBy: OURS }),
      aNode('failed', { desired: B, state: 'Degraded', cordonedBy: OURS }),
      aNode('held', { desired: B, state: 'Working', annotations: { [ANNOTATION.HELD_FOR]: B } }),
      updated('done', { cordonedBy: OURS }),
      aNode('old'),
    ]);

    expect(view.trying).toEqual(['cordoned', 'held']);
  });

  it('is as any other while it serves, and comes before them', () => {
    const working = { desired: B, state: 'Working' };
    const view = look([
      aNode('old'),
      aNode('serves', working),
      aNode('put-back', { ...working, annotations: { [ANNOTATION.CORDONED_BY]: OURS } }),
      aNode('leaving', { ...working, deleted: '2029-12-01T00:00:00Z' }),
      aNode('theirs', { ...working, cordoned: true }),
    ]);

    const asAnyOther = { currentConfig: A, repair: false };
    expect(view.candidates).toEqual([
      { node: 'put-back', ...asAnyOther, halfDone: true },
      { node: 'serves', ...asAnyOther, halfDone: true },
      { node: 'old', ...asAnyOther },
    ]);
    expect(view.unavailable).toEqual(['leaving', 'theirs']);
    expect(view.downOtherwise.map(({ node }) => node)).toEqual(['leaving']);
    expect(view.trying).toEqual(['serves', 'put-back', 'theirs']);
  });

  it('is not so in a cache that is older than the end of its update', () => {
    const node = aNode('back', { desired: B, state: 'Working', cordonedBy: OURS });
    const seen = { ...node, metadata: { ...node.metadata, resourceVersion: '9' } };
    const inService = [{ node: 'back', resourceVersion: '12' }];

    expect(unfinished(look([seen]))).toEqual(['back']);
    expect(unfinished(look([seen], { inService }))).toEqual([]);
    expect(look([seen]).trying).toEqual(['back']);
    expect(look([seen], { inService }).trying).toEqual([]);
  });
});

describe('a node that is out of service', () => {
  const away = { ready: 'False' } as const;
  const failed = { desired: X, state: 'Degraded' };
  const drifted = {
    state: 'Degraded',
    reason: 'unexpected on-disk state validating against /etc/motd',
  };
  const because = 'not Ready since 2029-06-01T00:00:00Z (kubelet stopped posting node status)';

  it('was taken out by an update, or went down by itself', () => {
    const view = look([
      aNode('away', away),
      aNode('cordoned', { cordoned: true }),
      aNode('leaving', { deleted: '2029-12-01T00:00:00Z' }),
      updated('done', away),
      aNode('given-up', { ...away, ...failed, cordonedBy: OURS }),
      aNode('ours', { desired: B, state: 'Working', cordonedBy: OURS }),
      aNode('on-its-way', { ...away, desired: B, state: 'Working' }),
      aNode('up'),
    ]);

    expect(view.downOtherwise).toEqual([
      { node: 'away', reason: because },
      { node: 'cordoned', reason: view.blocked.find(({ node }) => node === 'cordoned')?.reason },
      { node: 'leaving', reason: 'being deleted since 2029-12-01T00:00:00Z' },
      { node: 'done', reason: because },
    ]);
  });

  it.each([
    ['failed', failed],
    ['drifted', drifted],
  ])('went down by itself, and is taken up as it is, when it is %s', (name, state) => {
    expect(look([aNode(name, { ...away, ...state })])).toMatchObject({
      ...{ unavailable: [name], downOtherwise: [], triedAsTheyAre: [name] },
      candidates: [{ node: name, repair: true }],
    });
  });

  it('is down by itself when a person has cordoned it, unless an update is on its way there', () => {
    const theirs = { cordoned: true } as const;
    const view = look([
      aNode('failed', { ...theirs, ...failed }),
      aNode('half-done', { ...theirs, desired: B, state: 'Working' }),
      aNode('drifted', { ...theirs, ...drifted }),
    ]);

    expect(namesOfReasons(view.downOtherwise)).toEqual(['failed', 'drifted']);
    expect(view).toMatchObject({ triedAsTheyAre: [], candidates: [] });
  });
});

function namesOfReasons(reasons: PoolView['downOtherwise']): readonly string[] {
  return reasons.map(({ node }) => node);
}

describe('one check of a pool', () => {
  it('says what every node is', () => {
    const view = look([
      updated('done'),
      aNode('old', { zone: 'a' }),
      aNode('failed', { desired: B, state: 'Degraded', reason: 'ApplyFailed: disk full' }),
      aNode('held', {
        annotations: { [ANNOTATION.HELD_FOR]: B, [ANNOTATION.HELD_REASON]: 'skip: audit' },
      }),
      aNode('cordoned', { cordoned: true }),
      aNode('dead', { ready: 'Unknown' }),
      aNode('leaving', { deleted: '2029-12-01T00:00:00Z' }),
    ]);

    expect(view).toEqual({
      pool: 'worker',
      outdated: [],
      target: B,
      paused: false,
      maxUnavailable: 1,
      machineCount: 7,
      updated: ['done'],
      unavailable: ['cordoned', 'dead', 'leaving'],
      unavailableBecause: [
        { node: 'cordoned', reason: 'cordoned by a person' },
        {
          node: 'dead',
          reason: 'not Ready since 2029-06-01T00:00:00Z (kubelet stopped posting node status)',
        },
        { node: 'leaving', reason: 'being deleted since 2029-12-01T00:00:00Z' },
      ],
      downOtherwise: view.blocked,
      triedAsTheyAre: [],
      trying: [],
      candidates: [{ node: 'old', currentConfig: A, zone: 'a', repair: false }],
      failed: [{ node: 'failed', reason: 'ApplyFailed: disk full' }],
      unheard: [],
      held: [{ node: 'held', reason: 'skip: audit' }],
      blocked: [
        {
          node: 'cordoned',
          reason: 'cordoned by a person, so it is left alone; uncordon it to let it be updated',
        },
        {
          node: 'dead',
          reason: 'not Ready since 2029-06-01T00:00:00Z (kubelet stopped posting node status)',
        },
        { node: 'leaving', reason: 'being deleted since 2029-12-01T00:00:00Z' },
      ],
    });
  });

  it('survives the way through JSON', () => {
    const view = look([updated('a'), aNewNode('b')]);

    expect(JSON.parse(JSON.stringify(view))).toEqual(view);
  });

  it('has no candidates before the pool is rendered', () => {
    const view = look([aNode('n0')], { pool: { metadata: { name: 'worker' }, spec: {} } });

    expect(view.target).toBeUndefined();
    expect(view.candidates).toEqual([]);
  });

  it('shows the person who paused the pool, and the reason', () => {
    const pool = aPool({ paused: true });
    const metadata = { ...pool.metadata, annotations: { [ANNOTATION.PAUSED_REASON]: 'audit' } };

    expect(look([], { pool: { ...pool, metadata } })).toMatchObject({
      paused: true,
      pausedReason: 'audit',
    });
  });

  it('lets no node go of a pool that could never roll, and says why', () => {
    const view = look([aNode('n0')], { pool: aPool({ maxUnavailable: 0 }) });

    expect(view).toMatchObject({ maxUnavailable: 0, candidates: [{ node: 'n0' }] });
    expect(view.invalid).toContain('spec.maxUnavailable is 0');
    expect(selectFrom(view, { inFlight: [], limit: 1 }).invalid).toBe(view.invalid);
    expect(look([aNode('n0')])).not.toHaveProperty('invalid');
  });
});

describe('a node that takes no slot although MCO counts it', () => {
  it('is one whose disk drifted while it serves', () => {
    const reason = `unexpected on-disk state validating against ${B}: content of /etc/motd differs`;
    const drifted = updated('n0', { state: 'Degraded', reason });

    const view = look([drifted, aNode('n1')]);

    expect(view.unavailable).toEqual([]);
    expect(view.failed).toEqual([
      { node: 'n0', reason: `no longer matches its config: ${reason}` },
    ]);
    expect(names(view)).toEqual(['n1']);
  });

  it('is one whose update failed once its host had committed: nothing says that its disk is another', () => {
    const reason = 'VerifyFailed: the host has committed it, and n0 did not stay Ready';

    const view = look([updated('n0', { state: 'Degraded', reason })]);

    expect(view.failed).toEqual([{ node: 'n0', reason }]);
  });

  it('is one that was never configured', () => {
    const view = look([aNewNode('n0')]);

    expect(view.unavailable).toEqual([]);
    expect(view.candidates).toEqual([{ node: 'n0', repair: false }]);
  });

  it('is one that failed on the target and is back in service', () => {
    const view = look([
      aNode('n0', { desired: B, state: 'Degraded', reason: 'boom' }),
      aNode('n1'),
    ]);

    expect(view.unavailable).toEqual([]);
  });

  it('is not one that was never configured and is not ready', () => {
    const view = look([aNewNode('n0', { ready: 'False' })]);

    expect(view.unavailable).toEqual(['n0']);
    expect(view.blocked.map(({ node }) => node)).toEqual(['n0']);
  });

  it('waits for a new node whose kubelet has said nothing yet, and not for a known one', () => {
    const silent = { ...aNewNode('n0'), status: {} };
    const known = { ...aNode('n1'), status: {} };

    const view = look([silent, known]);

    expect(view.blocked).toEqual([
      { node: 'n0', reason: 'its kubelet has not said yet that it is Ready' },
    ]);
    expect(names(view)).toEqual(['n1']);
  });

  it('counts a cordoned failed node once', () => {
    const failed = aNode('n0', { desired: B, state: 'Degraded', cordonedBy: OURS });

    expect(
      look([failed, aNode('n1'), aNode('n2')], { pool: aPool({ maxUnavailable: 2 }) }),
    ).toMatchObject({ unavailable: ['n0'], maxUnavailable: 2 });
  });
});

describe('a node that an update left behind', () => {
  const stuck = aNode('stuck', { desired: X, state: 'Degraded', cordonedBy: OURS });

  it.each([
    ['fixed', B],
    ['reverted', A],
  ])(
    'is repaired without a slot once the config is %s, where MCO is dead-locked',
    (_name, target) => {
      const pool = aPool({ configuration: { name: target } });
      const nodes = [aNode('n1', { current: target }), stuck];

      expect(allCandidates(pool, nodes, maxUnavailable(pool, 2))).toEqual({
        candidates: [],
        capacity: 0,
      });
      expect(look(nodes, { pool }).candidates).toEqual([
        { node: 'stuck', currentConfig: A, repair: true },
      ]);
    },
  );

  it('comes before an older healthy one, where MCO takes that one', () => {
    const failed = aNode('young', {
      desired: X,
      state: 'Degraded',
      created: '2029-05-01T00:00:00Z',
    });
    const healthy = aNode('old', { created: '2020-01-01T00:00:00Z' });

    const mco = selectCandidates(allCandidates(aPool(), [healthy, failed], 1));

    expect(namesOf(mco)).toEqual(['old']);
    expect(names(look([healthy, failed]))).toEqual(['young', 'old']);
  });

  it('is taken up again when nobody finishes it', () => {
    const halfDone = aNode('n0', { desired: B, state: 'Working', cordonedBy: OURS });

    const view = look([halfDone, aNode('n1')]);

    expect(view.unavailable).toEqual(['n0']);
    expect(view.candidates[0]).toEqual({
      node: 'n0',
      currentConfig: A,
      repair: true,
      unfinished: true,
    });
  });

  it('is taken up again even on its config, while it has our cordon', () => {
    const view = look([updated('n0', { cordonedBy: OURS })]);

    expect(view.updated).toEqual([]);
    expect(view.candidates).toEqual([
      { node: 'n0', currentConfig: B, repair: true, unfinished: true },
    ]);
  });

  it('is left alone when a person cordoned it', () => {
    const view = look([aNode('n0', { desired: X, state: 'Degraded', cordoned: true })]);

    expect(view.candidates).toEqual([]);
    expect(view.blocked[0]?.node).toBe('n0');
  });
});

describe('a node that is not tried again until told', () => {
  const failed = aNode('n0', { desired: B, state: 'Degraded', reason: 'boom' });
  const held = aNode('n1', { annotations: { [ANNOTATION.HELD_FOR]: B } });

  it('is tried again when a person says so', () => {
    const view = look([failed, held], { retry: ['n0', 'n1'] });

    expect(names(view)).toEqual(['n0', 'n1']);
    expect(view.failed).toEqual([]);
    expect(view.held).toEqual([]);
  });

  it('is tried again on another config', () => {
    const view = look([failed, held], { pool: aPool({ configuration: { name: X } }) });

    expect(names(view)).toEqual(['n0', 'n1']);
  });

  it('stays blocked by the cordon of a person although told', () => {
    const view = look([aNode('n0', { desired: B, state: 'Degraded', cordoned: true })], {
      retry: ['n0'],
    });

    expect(view.candidates).toEqual([]);
    expect(view.blocked[0]?.node).toBe('n0');
  });

  it('has the reason of its MachineConfigNode when its own annotation has none', () => {
    const view = look([aNode('n0', { desired: B, state: 'Degraded' })], {
      machineConfigNodes: [
        {
          metadata: { name: 'n0' },
          spec: { node: { name: 'n0' }, pool: { name: 'worker' }, configVersion: { desired: B } },
          status: {
            conditions: [
              { type: 'NodeDegraded', status: 'True', reason: 'x', message: 'no space left' },
            ],
          },
        },
      ],
    });

    expect(view.failed).toEqual([{ node: 'n0', reason: 'no space left' }]);
  });

  it('names the update that gave it back, and none that still has it', () => {
    const run = 'v1/2026-01-01T00:00:00.000Z/5f1c';
    const marked = (name: string, mark: string): Node =>
      aNode(name, {
        ...{ desired: B, state: 'Degraded', reason: 'boom' },
        annotations: { [ANNOTATION.UPDATE_RUN]: mark },
      });

    const view = look([marked('n0', `${run}/over`), marked('n1', run)]);

    expect(view.failed).toEqual([
      { node: 'n0', reason: 'boom', givenBackBy: '5f1c' },
      { node: 'n1', reason: 'boom' },
    ]);
  });

  it('is blocked, and says why, when a later Slipway has written which update that was', () => {
    const mark = { [ANNOTATION.UPDATE_RUN]: 'v2/another/form' };

    const view = look([aNode('n0', { desired: B, state: 'Degraded', annotations: mark })]);

    expect(view.blocked).toMatchObject([
      { node: 'n0', reason: expect.stringContaining('is of version 2') as string },
    ]);
    expect([view.failed, view.candidates]).toEqual([[], []]);
  });
});

describe('a node that is not Ready, and that never said what it is on', () => {
  const down = 'not Ready since 2029-06-01T00:00:00Z (kubelet stopped posting node status)';

  it('is blocked until told, and says so', () => {
    const view = look([aNewNode('n0', { ready: 'False' })]);

    const todo = 'nobody knows what its machine is on: `slipway node retry n0` has it looked at';
    expect(view.blocked).toEqual([
      { node: 'n0', reason: `${down}; ${todo}`, isTriedWhenTold: true },
    ]);
    expect(view).toMatchObject({
      ...{ candidates: [], unavailable: ['n0'], triedAsTheyAre: [] },
      unavailableBecause: [{ node: 'n0', reason: `${down}; ${todo}` }],
      downOtherwise: [{ node: 'n0', reason: down }],
    });
  });

  it('is checked when a person says so, in the slot that it takes', () => {
    const view = look([aNewNode('n0', { ready: 'False' })], { retry: ['n0'] });

    expect(view).toMatchObject({
      ...{ blocked: [], unavailable: ['n0'], triedAsTheyAre: ['n0'] },
      candidates: [{ node: 'n0', repair: true }],
    });
  });

  it('is left alone under the cordon of a person although told', () => {
    const { spec, ...node } = aNewNode('n0', { ready: 'False' });
    const cordoned = { ...node, spec: { ...spec, unschedulable: true } };

    const view = look([cordoned], { retry: ['n0'] });

    expect(view).toMatchObject({ candidates: [], triedAsTheyAre: [] });
    expect(view.blocked[0]).not.toHaveProperty('isTriedWhenTold');
  });

  it('is distinguished from one that did, whose update waits until it is back', () => {
    const view = look([aNode('n0', { ready: 'False' })], { retry: ['n0'] });

    expect(view.candidates).toEqual([]);
    expect(view.blocked).toEqual([{ node: 'n0', reason: down }]);
  });
});

function heard(name: string): MachineConfigNode {
  const report = { config: A, findings: [], count: 0, repairs: [], forced: false };
  const { condition, drift } = driftStatus(name, report, undefined, '2030-01-01T00:00:00Z');
  return {
    metadata: { name },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'not-yet-set' } },
    status: { conditions: [condition], drift },
  };
}

describe('a node that has joined and failed', () => {
  const failed = (name: string, more: Readonly<Record<string, string>> = {}): Node => {
    const { metadata, ...rest } = aNewNode(name);
    const annotations = {
      [ANNOTATION.DESIRED_CONFIG]: B,
      [ANNOTATION.STATE]: 'Degraded',
      [ANNOTATION.REASON]: 'HostUnreachable: the host worker did not pick up prepareUpdate in time',
      ...more,
    };
    return { ...rest, metadata: { ...metadata, annotations } };
  };

  it('says nothing about the config when its host was never heard', () => {
    const view = look([failed('silent'), failed('gone')], { machineConfigNodes: [heard('gone')] });

    expect(view.failed.map(({ node }) => node)).toEqual(['silent', 'gone']);
    expect(view.unheard).toEqual(['silent']);
  });

  it.each(['ConfigFetchFailed: connection refused', 'ConfigForbidden: 403'])(
    'says nothing about a config that its host did not get (%s)',
    (reason) => {
      const view = look([failed('n', { [ANNOTATION.REASON]: reason })]);

      expect([view.failed.length, view.unheard]).toEqual([1, ['n']]);
    },
  );

  it.each([
    ['for another reason', failed('n', { [ANNOTATION.REASON]: 'ApplyFailed: disk full' })],
    ['in service', aNode('n', { desired: B, state: 'Degraded', reason: 'HostUnreachable: gone' })],
  ])('counts when it failed %s', (_how, node) => {
    const view = look([node]);

    expect([view.failed.length, view.unheard]).toEqual([1, []]);
  });
});

describe('the order of candidates', () => {
  it('is repairs, then new nodes, then failed ones in service, then by zone, age and name, and those never heard', () => {
    const nodes = [
      aNewNode('silent'),
      aNewNode('joined'),
      aNode('z', { zone: 'b' }),
      aNode('b', { zone: 'a', created: '2029-02-01T00:00:00Z' }),
      aNode('c', { zone: 'a', created: '2029-01-01T00:00:00Z' }),
      aNode('a', { zone: 'a', created: '2029-02-01T00:00:00Z' }),
      aNode('none'),
      aNode('failed', { desired: X, state: 'Unreconcilable', zone: 'z' }),
      aNode('repair', { desired: X, state: 'Working', zone: 'z' }),
    ];

    const view = look(nodes, { machineConfigNodes: [heard('joined')] });

    expect(names(view)).toEqual([
      ...['repair', 'joined', 'failed', 'c', 'a', 'b', 'z', 'none', 'silent'],
    ]);
  });
});

describe('what a workflow gets of a view', () => {
  const nodes = Array.from({ length: 200 }, (_, i) =>
    i < 100 ? aNode(`old-${i}`) : aNode(`cordoned-${i}`, { cordoned: true }),
  );

  it('is as many candidates as it wants, none of them in flight', () => {
    const selection = selectFrom(look(nodes), { inFlight: ['old-0', 'old-1'], limit: 2 });

    expect(selection.candidates.map(({ node }) => node)).toEqual(['old-10', 'old-11']);
    expect(selection.candidateCount).toBe(98);
  });

  it('says how many hosts are simulated', () => {
    const [real, played] = [aNode('real'), aNode('played')];
    const simulated = {
      ...played,
      status: { ...played.status, nodeInfo: { osImage: 'Simulated host (Slipway)' } },
    };
    const count = (...members: Node[]) =>
      selectFrom(look(members), { inFlight: [], limit: 0 }).simulatedCount;

    expect(count(real, simulated)).toBe(1);
    expect(count(real)).toBeUndefined();
  });

  it('has 50 reasons at most, and says how many there are', () => {
    const selection = selectFrom(look(nodes), { inFlight: ['cordoned-100'], limit: 0 });

    expect(selection.candidates).toEqual([]);
    expect(selection.blocked).toHaveLength(50);
    expect(selection.blockedCount).toBe(99);
  });
});
