import {
  excuseOfRollout,
  falseOfRollout,
  falseOfUpdate,
  type Outside,
  type SaidByRollout,
} from '../../observer/excuses';

const STATE = 'machineconfiguration.openshift.io/state';

/** Node `a` is out of service with its update, `b` serves, `c` has failed, the update of `d` is starting. */
const OUTSIDE: Outside = {
  isOpen: (id) => id === 'update-node/a',
  isStarting: (id) => id === 'update-node/d',
  isPaused: (pool) => pool === 'frozen',
  node: (name) =>
    ({
      a: { inService: false, annotations: {} },
      b: { inService: true, annotations: { [STATE]: 'Done' } },
      d: { inService: true, annotations: { [STATE]: 'Done' } },
      c: { inService: false, annotations: { [STATE]: 'Degraded' } },
    })[name],
};

const UPDATES = 'its node updates';
const SAID: SaidByRollout = { state: 'Rolling', slots: [], children: [], failed: [] };
const heard = (said: Partial<SaidByRollout>, pool = 'worker') =>
  falseOfRollout(pool, { ...SAID, ...said }, OUTSIDE);

const FEWER = 'says that no slot is free, and names fewer nodes than there are slots';

describe('a rollout', () => {
  it.each<[string, Partial<SaidByRollout>]>([
    ['an update that runs', { children: [{ node: 'a' }], slots: ['a'] }],
    ['an update that Temporal is told to start', { children: [{ node: 'd' }], slots: ['d'] }],
    ['a node that is out of service', { slots: ['c'] }],
    ['the failure that its Node shows', { state: 'Halted', failed: [{ node: 'c' }] }],
    ['a failed node that is tried again', { state: 'Halted', failed: [{ node: 'a' }] }],
    ['nobody but such a node', { state: 'Halted', triedAgain: ['a'] }],
    [
      'nodes that take the slots',
      {
        state: 'Blocked',
        blocker: 'no free slot: 2 nodes of at most 2 unavailable: a (cordoned (by b)), c',
      },
    ],
  ])('is believed when it waits for %s', (_what, said) => {
    expect(heard(said)).toEqual([]);
  });

  it.each<[string, Partial<SaidByRollout>, string]>([
    [
      'an update that is over',
      { children: [{ node: 'b' }] },
      'waits for the update of b, which does not run',
    ],
    [
      'a pause that nobody made',
      { state: 'Paused' },
      'says that its pool is paused, and it is not',
    ],
    [
      'a failure that is none',
      { state: 'Halted', failed: [{ node: 'b' }] },
      'is halted by the failure of b, which shows none',
    ],
    [
      'a node that is tried again, and is not',
      { state: 'Halted', triedAgain: ['b'] },
      'is halted by the failure of b, which shows none',
    ],
    ['no failure', { state: 'Halted' }, 'says that it is halted, and names no node that failed'],
    [
      'a slot that nobody uses',
      { slots: ['b'] },
      'counts a slot for b, which is in service and has no update',
    ],
    ['a slot of a node that is gone', { slots: ['z'] }, 'counts a slot for z, which is no node'],
    [
      'a node that serves, behind others',
      {
        state: 'Blocked',
        blocker: 'no free slot: 3 nodes of at most 3 unavailable: a (why; not), c, b and 2 more',
      },
      'counts a slot for b, which is in service and has no update',
    ],
    [
      'a node that serves, for one of its updates',
      {
        children: [
          {
            node: 'a',
            blocker: 'waiting for a slot: maxUnavailable is 1; holding a slot: a; unavailable: b',
          },
        ],
      },
      'counts a slot for b, which is in service and has no update',
    ],
    [
      'slots of which it names too few',
      { blocker: 'no free slot: 2 nodes of at most 4 unavailable: a (why), c' },
      FEWER,
    ],
    [
      'slots of the control plane of which it names too few',
      {
        blocker: 'waiting for a slot: at most 2 of 5 control-plane nodes at once; unavailable: c',
      },
      FEWER,
    ],
    [
      'slots of which it names too few, for one of its updates',
      {
        children: [
          { node: 'a', blocker: 'waiting for a slot: maxUnavailable is 3; holding a slot: a, c' },
        ],
      },
      FEWER,
    ],
  ])('is not when it waits for %s', (_what, said, sentence) => {
    expect(heard(said)).toEqual([sentence]);
  });

  it('may say that a paused pool is paused', () => {
    expect(heard({ state: 'Paused' }, 'frozen')).toEqual([]);
  });
});

describe('the excuse of a rollout', () => {
  const waits = { node: 'a', stage: 'waiting' };
  const full = 'no free slot: 5 nodes of at most 5 unavailable: a, b, c and 2 more';

  it.each<[string, Partial<SaidByRollout>, string | undefined]>([
    ['what it says', { blocker: full, children: [waits] }, full],
    ['an update that works', { children: [waits, { node: 'b', stage: 'working' }] }, UPDATES],
    ['an update that prepares', { children: [{ node: 'b', stage: 'preparing' }] }, UPDATES],
    ['what it says of one of them', { children: [waits, { ...waits, blocker: full }] }, full],
    ['none where all wait, and slots are free', { children: [waits] }, undefined],
    [
      'none where it calls full what is not',
      { blocker: 'no free slot: 1 node of at most 2 unavailable: b', children: [waits] },
      undefined,
    ],
    ['none where it says none', {}, undefined],
  ])('is %s', (_what, said, excuse) => {
    expect(excuseOfRollout(said)).toBe(excuse);
  });
});

describe('an update', () => {
  const TELLS = 'pool-rollout/worker to hear how it ended';
  const APPLYING = { phase: 'Applying', blocker: 'the host to write its files' };
  const draining = { phase: 'Draining', blocker: 'pods to leave the node' };

  it.each([
    ['pods that are there', draining, { steps: ['drainNode'], pods: ['shop/cart-1'] }],
    ['pods that nobody knows by name', draining, { steps: ['drainNode'] }],
    ['its slot', { phase: 'WaitingForSlot', blocker: 'a slot' }, { steps: [] }],
    ['its rollout', { phase: 'Completing', blocker: TELLS }, { steps: [], messages: 1 }],
    ['a step', APPLYING, { steps: ['reportNodePhase', 'applyUpdate'], pods: [] }],
  ])('is believed when it waits for %s', (_what, said, underWay) => {
    expect(falseOfUpdate(said, underWay)).toEqual([]);
  });

  it('is not when the pods have left', () => {
    expect(falseOfUpdate(draining, { steps: ['drainNode'], pods: [] })).toEqual([
      'says "pods to leave the node", and none that it waits for is there',
    ]);
  });

  it('is not excused when it does not report its end', () => {
    expect(
      falseOfUpdate({ phase: 'Completing', blocker: TELLS }, { steps: ['completeNode'] }),
    ).toEqual([`says "${TELLS}", and tells nobody`]);
  });

  it.each([
    ['it has no step out', APPLYING, [], 'has no step under way'],
    ['its step is another one', APPLYING, ['drainNode'], 'has drainNode under way'],
    [
      'it says what nobody knows',
      { ...APPLYING, blocker: 'better times' },
      ['applyUpdate'],
      'nobody knows which step that is',
    ],
  ])('is not when %s', (_what, said, steps, but) => {
    expect(falseOfUpdate(said, { steps })).toEqual([`says "${said.blocker}", and ${but}`]);
  });
});
