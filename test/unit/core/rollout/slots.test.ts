import {
  countedInNumber,
  decideSlots,
  freeSlots,
  pendingBefore,
  settleBroken,
  slotNumber,
} from '../../../../core/rollout';

const granted = (request: Parameters<typeof decideSlots>[0]): readonly string[] =>
  decideSlots(request).granted;

const request = { maxUnavailable: 2, unavailable: [], holders: [], waiting: [] };

describe('slots', () => {
  it('are given in order up to maxUnavailable', () => {
    expect(granted({ ...request, waiting: ['a', 'b', 'c'] })).toEqual(['a', 'b']);
  });

  it('are counted for holders that the cluster view does not show unavailable yet', () => {
    expect(granted({ ...request, holders: ['x', 'y'], waiting: ['a'] })).toEqual([]);
  });

  it('are counted once for a holder that the view shows', () => {
    const both = { ...request, holders: ['x'], unavailable: ['x'], waiting: ['a', 'b'] };

    expect(granted(both)).toEqual(['a']);
  });

  it('are taken by nodes that others made unavailable', () => {
    expect(granted({ ...request, unavailable: ['x', 'y'], waiting: ['a'] })).toEqual([]);
  });

  it('are not needed to repair a node that is unavailable already, even over the limit', () => {
    const over = { ...request, unavailable: ['x', 'y', 'z'], waiting: ['a', 'y'] };

    expect(granted(over)).toEqual(['y']);
  });

  it('are not given for a node that is down by itself, also when there are some', () => {
    const decision = decideSlots({
      ...request,
      maxUnavailable: 3,
      unavailable: ['x', 'y'],
      downOtherwise: [{ node: 'y', reason: 'not Ready' }],
      waiting: ['y', 'x', 'a'],
    });

    expect(decision.granted).toEqual(['x', 'a']);
    expect(decision.withheld).toEqual([{ node: 'y', reason: 'not Ready' }]);
  });

  it('are not given twice to the same node', () => {
    expect(granted({ ...request, holders: ['a'], waiting: ['a', 'b', 'b'] })).toEqual(['b']);
  });

  it('are kept for the canary while the config is not proven', () => {
    const canary = { slots: 1, trying: [] };

    expect(granted({ ...request, waiting: ['a', 'b'], canary })).toEqual(['a']);
    expect(
      granted({
        ...request,
        waiting: ['b'],
        holders: ['a'],
        canary: { slots: 1, trying: ['a'] },
      }),
    ).toEqual([]);
  });

  it('are not given for repairs beside the canary either', () => {
    const canary = { slots: 1, trying: ['a'] };

    expect(
      granted({ ...request, holders: ['a'], unavailable: ['x'], waiting: ['x'], canary }),
    ).toEqual([]);
  });

  it('are given to whoever tries the config already, whoever else does', () => {
    const canary = { slots: 1, trying: ['x', 'y'] };
    const left = { maxUnavailable: 3, holders: [], unavailable: ['x', 'y'] };

    const decision = decideSlots({ ...request, ...left, waiting: ['y', 'a', 'x'], canary });

    expect(decision.granted).toEqual(['y', 'x']);
    expect(decision.withheld).toEqual([
      { node: 'a', reason: 'waiting for the canary: x, y must be verified on the config first' },
    ]);
  });

  it('are kept for the canary once for each node, however it is known to try the config', () => {
    const canary = { slots: 2, trying: ['x'] };
    const left = { maxUnavailable: 3, holders: ['x'], unavailable: ['x'], inherited: ['x'] };

    expect(granted({ ...request, ...left, waiting: ['a'], canary })).toEqual(['a']);
    expect(freeSlots({ ...request, ...left, canary })).toBe(1);
  });

  it('that were taken over from lost updates are used one after the other, as the canary allows', () => {
    const canary = { slots: 1, trying: [] };
    const left = { holders: ['x', 'y'], unavailable: ['x', 'y'], inherited: ['x', 'y'] };

    const decision = decideSlots({ ...request, ...left, waiting: ['y', 'x', 'a'], canary });

    expect(decision.granted).toEqual(['y']);
    expect(decision.withheld).toEqual([
      { node: 'x', reason: 'waiting for the canary: y must be verified on the config first' },
      { node: 'a', reason: 'waiting for the canary: y, x must be verified on the config first' },
    ]);
    expect(granted({ ...request, ...left, waiting: ['y', 'x'] })).toEqual(['y', 'x']);
    expect(freeSlots({ ...request, maxUnavailable: 3, ...left, canary })).toBe(0);
  });

  it('are kept free for who has taken one over and is not prepared yet', () => {
    const canary = { slots: 1, trying: [] };
    const left = { holders: ['x'], unavailable: ['x'], inherited: ['x'] };

    expect(granted({ ...request, ...left, waiting: ['a'], canary })).toEqual([]);
  });

  it('do not wait for a node that still finishes an older config, except by its slot', () => {
    const canary = { slots: 1, trying: [] };

    expect(granted({ ...request, holders: ['older'], waiting: ['a', 'b'], canary })).toEqual(['a']);
  });

  it('name what a node waits for', () => {
    const decision = decideSlots({
      ...request,
      unavailable: ['down', 'a'],
      holders: ['a'],
      waiting: ['b'],
    });

    expect(decision.withheld).toEqual([
      {
        node: 'b',
        reason: 'waiting for a slot: maxUnavailable is 2; holding a slot: a; unavailable: down',
      },
    ]);
    const canary = decideSlots({ ...request, waiting: ['b'], canary: { slots: 1, trying: ['a'] } });
    expect(canary.withheld).toEqual([
      { node: 'b', reason: 'waiting for the canary: a must be verified on the config first' },
    ]);
  });

  it('are free as many as could be given', () => {
    expect(freeSlots(request)).toBe(2);
    expect(freeSlots({ ...request, holders: ['a'], unavailable: ['a'] })).toBe(1);
    expect(freeSlots({ ...request, unavailable: ['a', 'b', 'c'] })).toBe(0);
    expect(freeSlots({ ...request, canary: { slots: 1, trying: [] } })).toBe(1);
    expect(freeSlots({ ...request, holders: ['a'], canary: { slots: 1, trying: ['a'] } })).toBe(0);
  });

  it.each([
    ['the first', [], ['a'], [], 1],
    ['the third', [], ['x', 'y', 'a'], [], 3],
    ['after a holder that is cordoned by now', ['x'], ['x', 'a'], [], 2],
    ['after a node that an update has left', ['x'], ['a'], [], 2],
    ['beside a node that is down by itself', ['d'], ['a'], ['d'], 1],
    ['after a holder that is down by itself', ['x'], ['x', 'a'], ['x'], 2],
  ])('have a number: %s', (_which, unavailable, holders, down, number) => {
    const downOtherwise = down.map((node) => ({ node, reason: 'not Ready' }));
    expect(slotNumber({ unavailable, holders, downOtherwise }, down.length)).toBe(number);
  });

  it('count those that are tried as they are, and holders that are down, unless they are too many', () => {
    const downOtherwise = [
      { node: 'd', reason: 'not Ready' },
      { node: 'h', reason: 'not Ready' },
    ];
    const granted = { holders: ['h', 'x'], downOtherwise };

    const many = Array.from({ length: 50 }, (_, index) => `f${index}`);
    expect(countedInNumber(granted, ['f'])).toEqual(['f', 'h']);
    expect(countedInNumber(granted, many)).toBeUndefined();
  });

  it('go with the names of those that were given before and are not seen to be used, unless they are too many', () => {
    const holders = ['a', 'b', 'c'];
    expect(pendingBefore('c', { holders, unavailable: ['b', 'x'] })).toEqual(['a']);
    const downOtherwise = [{ node: 'b', reason: 'not Ready' }];
    expect(pendingBefore('c', { holders, unavailable: ['b'], downOtherwise })).toEqual(['a', 'b']);

    const many = Array.from({ length: 52 }, (_, index) => `n${index}`);
    expect(pendingBefore('n51', { holders: many, unavailable: [] })).toBeUndefined();
    expect(pendingBefore('n51', { holders: many, unavailable: ['n0'] })).toHaveLength(50);
  });

  it('are kept by a node that was left out of service until the view shows it', () => {
    expect(settleBroken(['a', 'b'], ['b', 'c'])).toEqual(['a']);
  });
});
