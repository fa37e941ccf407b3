import { rolloutState, type RolloutFacts } from '../../../../core/rollout/progress';

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
const working = { node: 'n1', isGranted: true };
const waiting = { node: 'n2', isGranted: false };

describe('the state of a rollout', () => {
  it.each<[string, RolloutFacts, ReturnType<typeof rolloutState>]>([
    ['Rolling while a node is at work', { ...facts, children: [working] }, { state: 'Rolling' }],
    [
      'Rolling before the first node has a grant',
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
          { node: 'n3', isGranted: true },
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
          { node: 'n3', isGranted: false },
        ],
      },
      { state: 'Rolling' },
    ],
    [
      'Blocked by the control plane, where that leaves the pool no more room',
      {
        ...facts,
        children: [waiting],
        unavailable: ['n1'],
        controlPlane: { total: 3, isLimiting: true },
      },
      {
        state: 'Blocked',
        blocker:
          'no room: 1 node of at most 1 out of service: n1; at most 1 of 3 control-plane nodes at once',
      },
    ],
    [
      'Blocked where all that are left wait for something else than room',
      {
        ...facts,
        candidateCount: 0,
        children: [{ ...waiting, blocker: 'waiting for room: at most 1 of 3' }],
      },
      { state: 'Blocked', blocker: 'n2: waiting for room: at most 1 of 3' },
    ],
    [
      'Blocked for a person who has to start it',
      { ...facts, unstarted: true },
      { state: 'Blocked', blocker: 'pool worker waits for a person: slipway rollout start worker' },
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
      'Paused, also for who only has a grant and waits',
      { ...facts, paused: true, children: [{ ...working, blocker: 'waiting for its turn' }] },
      { state: 'Paused', blocker: 'pool worker is paused; resume it to go on' },
    ],
    [
      'Halted',
      {
        ...facts,
        halted: true,
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
      'Blocked without room',
      {
        ...facts,
        unavailable: ['n3'],
        unavailableBecause: [{ node: 'n3', reason: 'cordoned by a person' }],
        children: [waiting],
      },
      {
        state: 'Blocked',
        blocker: 'no room: 1 node of at most 1 out of service: n3 (cordoned by a person)',
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
      { ...facts, cancelling: true, cancelled: true, paused: true, children: [working] },
      { state: 'Cancelling', blocker: 'waiting for n1 to be taken back or to finish' },
    ],
    [
      'Blocked once everything is taken back, whatever else holds',
      { ...facts, cancelled: true, paused: true },
      {
        state: 'Blocked',
        blocker:
          'the rollout of rendered-worker-b was cancelled; start it again: slipway rollout start worker',
      },
    ],
  ])('is %s', (_name, given, expected) => {
    expect(rolloutState(given)).toEqual(expected);
  });

  it('names the nodes that are out of service: first those with a known reason, then the others', () => {
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
      'no room: 4 nodes of at most 4 out of service: n3 (cordoned by a person), n1, n2 and 1 more',
    );
  });
});
