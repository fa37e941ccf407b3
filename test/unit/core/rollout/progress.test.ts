import { remainingSeconds, rolloutState, type RolloutFacts } from '../../../../core/rollout';

const unrendered: RolloutFacts = {
  pool: 'worker',
  paused: false,
  machineCount: 4,
  maxUnavailable: 1,
  updated: 1,
  unavailable: [],
  children: [],
  candidateCount: 3,
  failed: [],
  held: [],
  blocked: [],
  policy: { failureThreshold: 2 },
};
const facts: RolloutFacts = { ...unrendered, config: 'rendered-worker-b' };
const working = { node: 'n1', holdsSlot: true };
const waiting = { node: 'n2', holdsSlot: false };

describe('the state of a rollout', () => {
  it.each<[string, RolloutFacts, ReturnType<typeof rolloutState>]>([
    ['Rolling while a node is at work', { ...facts, children: [working] }, { state: 'Rolling' }],
    [
      'Rolling before the first node has a slot',
      { ...facts, children: [waiting] },
      { state: 'Rolling' },
    ],
    [
      'Rolling with the blocker of a hindered node',
      { ...facts, children: [{ ...working, blocker: 'waiting for pod shop/cart-7f' }] },
      { state: 'Rolling', blocker: 'n1: waiting for pod shop/cart-7f' },
    ],
    [
      'Rolling as long as one of the nodes is not hindered',
      {
        ...facts,
        children: [
          { ...working, blocker: 'x' },
          { node: 'n3', holdsSlot: true },
        ],
      },
      { state: 'Rolling' },
    ],
    [
      'Rolling with the blocker of the only nodes that are under way',
      { ...facts, children: [{ ...waiting, blocker: 'waiting for Temporal' }] },
      { state: 'Rolling', blocker: 'n2: waiting for Temporal' },
    ],
    [
      'Rolling as long as one of those is not hindered',
      {
        ...facts,
        children: [
          { ...waiting, blocker: 'x' },
          { node: 'n3', holdsSlot: false },
        ],
      },
      { state: 'Rolling' },
    ],
    [
      'Blocked where the pool has room, and the control plane has none',
      {
        ...facts,
        children: [waiting],
        childrenHeld: [{ node: 'n2', reason: 'waiting for a slot: at most 1 of 3' }],
      },
      { state: 'Blocked', blocker: 'waiting for a slot: at most 1 of 3' },
    ],
    [
      'Rolling where another one may go all the same',
      {
        ...facts,
        children: [waiting, { node: 'n3', holdsSlot: false }],
        childrenHeld: [{ node: 'n2', reason: 'waiting for a slot: at most 1 of 3' }],
      },
      { state: 'Rolling' },
    ],
    [
      'Blocked by the control plane, where that leaves the pool no more slots',
      {
        ...facts,
        children: [waiting],
        unavailable: ['n1'],
        controlPlane: { total: 3, isLimiting: true },
      },
      {
        state: 'Blocked',
        blocker:
          'no free slot: 1 node of at most 1 unavailable: n1; at most 1 of 3 control-plane nodes at once',
      },
    ],
    ['Completed', { ...facts, updated: 4, candidateCount: 0 }, { state: 'Completed' }],
    ['Completed although paused', { ...facts, updated: 4, paused: true }, { state: 'Completed' }],
    [
      'not Completed while a child has not ended',
      { ...facts, updated: 4, children: [working] },
      { state: 'Rolling' },
    ],
    [
      'Paused, with what still finishes',
      { ...facts, paused: true, pausedReason: 'audit', children: [working, waiting] },
      {
        state: 'Paused',
        blocker: 'pool worker is paused (audit); n1 will still finish; resume it to go on',
      },
    ],
    [
      'Paused, also for who only has a slot and waits',
      { ...facts, paused: true, children: [{ ...working, blocker: 'waiting for its turn' }] },
      { state: 'Paused', blocker: 'pool worker is paused; resume it to go on' },
    ],
    [
      'Halted',
      {
        ...facts,
        failed: [
          { node: 'n1', reason: 'ApplyFailed: disk full' },
          { node: 'n2', reason: 'x' },
        ],
      },
      {
        state: 'Halted',
        blocker:
          '2 nodes failed on rendered-worker-b (the limit is 2): n1, n2; n1: ApplyFailed: disk full; retry a node or change the config',
      },
    ],
    [
      'Blocked without a free slot',
      {
        ...facts,
        unavailable: ['n3'],
        unavailableBecause: [{ node: 'n3', reason: 'cordoned by a person' }],
        children: [waiting],
      },
      {
        state: 'Blocked',
        blocker: 'no free slot: 1 node of at most 1 unavailable: n3 (cordoned by a person)',
      },
    ],
    [
      'Blocked by what is left',
      {
        ...facts,
        candidateCount: 0,
        updated: 1,
        failed: [{ node: 'n1', reason: 'boom' }],
        blocked: [{ node: 'n2', reason: 'not Ready' }],
        held: [{ node: 'n3', reason: 'skip' }],
      },
      {
        state: 'Blocked',
        blocker:
          'nothing is left to start; 1 node failed: n1 (boom); ' +
          '1 node cannot be taken now: n2 (not Ready); 1 node is held: n3 (skip)',
      },
    ],
    [
      'WaitingForRender',
      unrendered,
      {
        state: 'WaitingForRender',
        blocker:
          'waiting for the first rendered config of pool worker; see its RenderDegraded condition',
      },
    ],
    [
      'Cancelling before everything else',
      { ...facts, cancelling: true, paused: true, children: [working] },
      { state: 'Cancelling', blocker: 'waiting for n1 to be taken back or to finish' },
    ],
    [
      'Rolling, and about to start another, beside one that waits and is down by itself',
      { ...facts, children: [waiting], childrenDown: [{ node: 'n2', reason: 'not Ready' }] },
      { state: 'Rolling' },
    ],
    [
      'Rolling with the blocker of who can go, beside one that waits and is down by itself',
      {
        ...facts,
        children: [waiting, { node: 'n3', holdsSlot: false, blocker: 'x' }],
        childrenDown: [{ node: 'n2', reason: 'not Ready' }],
      },
      { state: 'Rolling', blocker: 'n3: x' },
    ],
  ])('is %s', (_name, given, expected) => {
    expect(rolloutState(given)).toEqual(expected);
  });

  it('is Halted by a count when the list was cut', () => {
    const cut = { ...facts, failed: [{ node: 'n1', reason: 'x' }], failedCount: 60 };

    expect(rolloutState({ ...cut, policy: { failureThreshold: 60 } })).toEqual({
      state: 'Halted',
      blocker:
        '60 nodes failed on rendered-worker-b (the limit is 60): n1 and 59 more; n1: x; ' +
        'retry a node or change the config',
    });
  });

  it('names the nodes that take the slots: first those with a known reason, then the others', () => {
    const full: RolloutFacts = {
      ...facts,
      maxUnavailable: 4,
      unavailable: ['n1', 'n2', 'n3', 'n4'],
      unavailableBecause: [
        { node: 'n3', reason: 'cordoned by a person' },
        { node: 'elsewhere', reason: 'back in service since' },
      ],
    };

    expect(rolloutState(full).blocker).toBe(
      'no free slot: 4 nodes of at most 4 unavailable: n3 (cordoned by a person), n1, n2 and 1 more',
    );
  });

  it('counts what is left beyond the lists', () => {
    const left = {
      ...facts,
      candidateCount: 0,
      ...{ held: [{ node: 'n3', reason: 'skip' }], heldCount: 51 },
      ...{ blocked: [{ node: 'n4', reason: 'not Ready' }], blockedCount: 2 },
    };

    expect(rolloutState(left).blocker).toBe(
      'nothing is left to start; 2 nodes cannot be taken now: n4 (not Ready) and 1 more; ' +
        '51 nodes are held: n3 (skip) and 50 more',
    );
  });
});

describe('the time that is left', () => {
  it.each<[string, Parameters<typeof remainingSeconds>[0], number | undefined]>([
    [
      'is not known before a node has finished',
      { finishedSeconds: [], workingSeconds: [3], pending: 9, parallel: 2 },
      undefined,
    ],
    [
      'spreads over the slots',
      { finishedSeconds: [10], workingSeconds: [], pending: 10, parallel: 5 },
      20,
    ],
    [
      'counts what is done already',
      { finishedSeconds: [10], workingSeconds: [4, 6], pending: 0, parallel: 2 },
      6,
    ],
    [
      'is never less than one whole node',
      { finishedSeconds: [10], workingSeconds: [], pending: 1, parallel: 5 },
      10,
    ],
    [
      'is not frightened by one slow node',
      { finishedSeconds: [10, 10, 3600], workingSeconds: [], pending: 2, parallel: 1 },
      20,
    ],
    [
      'takes an overdue node to be nearly done',
      { finishedSeconds: [10], workingSeconds: [99], pending: 0, parallel: 1 },
      0,
    ],
    [
      'is zero at the end',
      { finishedSeconds: [10], workingSeconds: [], pending: 0, parallel: 1 },
      0,
    ],
  ])('%s', (_name, input, expected) => {
    expect(remainingSeconds(input)).toBe(expected);
  });
});
