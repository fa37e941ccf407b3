import { selectFrom, type PoolView } from '../../../../core/rollout';

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `n${i}`);
const because = (count: number) =>
  names(count).map((node) => ({ node, reason: `${node} is tired` }));

function aView(overrides: Partial<PoolView>): PoolView {
  return {
    ...{ pool: 'worker', paused: false, maxUnavailable: 1, machineCount: 200 },
    ...{ updated: [], outdated: [] },
    ...{ unavailable: [], unavailableBecause: [], downOtherwise: [], triedAsTheyAre: [] },
    ...{ trying: [], candidates: [], failed: [], unheard: [], held: [], blocked: [] },
    ...overrides,
  };
}

describe('the selection of a view', () => {
  it('says how many failed nodes do not count, of those whose update does not run', () => {
    const view = aView({ failed: because(3), unheard: ['n0', 'n2'] });

    expect(selectFrom(view, { inFlight: [], limit: 5 }).unheardCount).toBe(2);
    expect(selectFrom(view, { inFlight: ['n2'], limit: 5 })).toMatchObject({
      ...{ unheardCount: 1, unheard: ['n0'] },
    });
    expect(
      selectFrom(aView({ failed: because(3) }), { inFlight: [], limit: 5 }),
    ).not.toHaveProperty('unheardCount');
  });

  it('names the node that shows a counting failure while its update runs, and the update of that failure', () => {
    const failed = because(5).map((one) => ({ ...one, givenBackBy: `run-of-${one.node}` }));
    const view = aView({ failed: [...failed, ...because(6).slice(5)], unheard: ['n2'] });

    const selected = selectFrom(view, { inFlight: ['n1', 'n2', 'n5'], limit: 5 });

    expect(selected.failedInFlight).toEqual([failed[1]]);
    expect(selected.failed).toEqual(because(5).filter((_, i) => i !== 1 && i !== 2));
    expect(selectFrom(view, { inFlight: [], limit: 5 })).not.toHaveProperty('failedInFlight');
  });

  it('cuts long lists and keeps their counts', () => {
    const view = aView({ failed: because(60), held: because(51), blocked: because(50) });

    const { failed, failedCount, held, heldCount, blocked, blockedCount } = selectFrom(view, {
      inFlight: [],
      limit: 5,
    });

    expect([failed.length, failedCount]).toEqual([50, 60]);
    expect([held.length, heldCount]).toEqual([50, 51]);
    expect([blocked.length, blockedCount]).toEqual([50, 50]);
  });

  it('names the nodes that try an unverified config, whether their updates run or not', () => {
    const view = aView({ trying: ['n1', 'n7'], updated: ['n3'] });
    const limits = { inFlight: ['n1'], limit: 5 };

    expect(selectFrom(view, { ...limits, canaryNodes: 2 }).trying).toEqual(['n1', 'n7']);
    expect(selectFrom(view, { ...limits, canaryNodes: 1 })).not.toHaveProperty('trying');
    expect(selectFrom(view, limits)).not.toHaveProperty('trying');
  });

  it('names those that have a slot as they are, in flight or not, beside those that are down otherwise', () => {
    const view = aView({ downOtherwise: because(2), triedAsTheyAre: ['n7', 'n8'] });

    const selected = selectFrom(view, { inFlight: ['n0', 'n8'], limit: 5 });

    expect(selected.downOtherwise?.map(({ node }) => node)).toEqual(['n0']);
    expect(selected.downOtherwiseCount).toBe(2);
    expect(selected.countedDown).toEqual(['n7', 'n8']);
  });

  it('names the failed and the held nodes that a rollout remembers, however many others there are', () => {
    const view = aView({ failed: because(70), held: because(60) });

    const { failed, failedCount, held } = selectFrom(view, {
      ...{ inFlight: [], limit: 0, asked: 'n58' },
      remembered: ['n69', 'gone', 'n3', 'n58', 'n59'].map((node) => ({ node })),
    });

    expect(failed.slice(0, 5).map(({ node }) => node)).toEqual(['n58', 'n69', 'n3', 'n59', 'n0']);
    expect([failed.length, failedCount]).toEqual([50, 70]);
    expect(held.slice(0, 4).map(({ node }) => node)).toEqual(['n58', 'n3', 'n59', 'n0']);
  });

  it('puts the node that was asked about first, in whichever list it is', () => {
    const candidates = names(80).map((node) => ({ node, repair: false }));
    const view = aView({ candidates, failed: because(60), held: because(5) });

    const { failed, held } = selectFrom(view, { inFlight: [], limit: 0, asked: 'n57' });
    const { candidates: started } = selectFrom(view, { inFlight: [], limit: 1, asked: 'n79' });
    const { failed: unasked } = selectFrom(view, { inFlight: ['n57'], limit: 0, asked: 'n57' });

    expect(failed.slice(0, 2).map(({ node }) => node)).toEqual(['n57', 'n0']);
    expect(failed).toHaveLength(50);
    expect(held.map(({ node }) => node)).toEqual(names(5));
    expect(started.map(({ node }) => node)).toEqual(['n79']);
    expect(unasked[0]?.node).toBe('n0');
  });

  it('names first the nodes that a person retried, and then as many others as are wanted', () => {
    const candidates = names(80).map((node) => ({ node, repair: false }));
    const view = aView({ candidates, blocked: because(60) });
    const startable = (limit: number, retry: readonly string[]) =>
      selectFrom(view, { inFlight: ['n3'], limit, retry }).candidates.map(({ node }) => node);

    expect(startable(3, ['n70', 'n3', 'gone'])).toEqual(['n70', 'n0', 'n1', 'n2']);
    expect(startable(1, ['n79', 'n70'])).toEqual(['n79', 'n70', 'n0']);
    // Without a readable config no node gets an order.
    expect(startable(0, ['n79'])).toEqual([]);
    const { blocked } = selectFrom(view, { inFlight: [], limit: 5, retry: ['n55'] });
    expect(blocked.slice(0, 2).map(({ node }) => node)).toEqual(['n55', 'n0']);
  });

  it('says of those that are asked about whom an update has left half done', () => {
    const half = names(3).map((node) => ({ node, repair: true, unfinished: true as const }));
    const view = aView({ candidates: [...half, { node: 'n3', repair: true }] });
    const inFlight = ['n1', 'n3'];

    const selected = selectFrom(view, { inFlight, waiting: inFlight, limit: 5 });

    expect(selected.unfinished).toEqual(['n1']);
    expect(selected.candidates).toEqual([half[0], half[2]]);
    expect(selectFrom(view, { inFlight, limit: 5 })).not.toHaveProperty('unfinished');
  });

  it('names those in flight that are down by themselves, the first fifty with their reasons', () => {
    const view = aView({ unavailable: names(60), downOtherwise: because(60) });

    expect(selectFrom(view, { inFlight: ['n1', 'n59'], limit: 5 }).downOtherwise).toEqual([
      { node: 'n1', reason: 'n1 is tired' },
      { node: 'n59', reason: 'n59 is tired' },
    ]);
    const all = selectFrom(view, { inFlight: names(60), limit: 5 }).downOtherwise;
    expect(all?.slice(49, 51)).toEqual([
      { node: 'n49', reason: 'n49 is tired' },
      { node: 'n50', reason: 'unavailable' },
    ]);
    expect(selectFrom(view, { inFlight: [], limit: 5 })).not.toHaveProperty('downOtherwise');
  });

  it('counts all nodes of the pool that are down by themselves', () => {
    const view = aView({ unavailable: names(60), downOtherwise: because(55) });

    expect(selectFrom(view, { inFlight: ['n1'], limit: 5 }).downOtherwiseCount).toBe(55);
  });

  it('explains the first few unavailable nodes whose update does not run', () => {
    const view = aView({ unavailable: names(20), unavailableBecause: because(20) });

    const { unavailableBecause } = selectFrom(view, { inFlight: ['n0', 'n2'], limit: 5 });

    expect(unavailableBecause.map(({ node }) => node)).toEqual(['n1', 'n3', 'n4', 'n5', 'n6']);
    expect(unavailableBecause[0]).toEqual({ node: 'n1', reason: 'n1 is tired' });
  });
});
