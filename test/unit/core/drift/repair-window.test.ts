import fc from 'fast-check';
import { REPAIR_WINDOW } from '../../../../core/drift';
import { mayDisturb, type TurnMember } from './pool-window';

const SECOND = 1000;
/** Longest wait for services of a repair: they start within 100 s, and are watched for 5 s. */
const REPAIR = 105 * SECOND;
/** Interval between two reports of a drifted host, including one report. */
const ASKS_EVERY = 65 * SECOND;

const LONG_DRIFTED = { isDrifted: true, since: -REPAIR_WINDOW.window };

const names = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);

function aPool(count: number, isOut: (index: number) => boolean = () => false): TurnMember[] {
  return names(count).map((name, index) => ({
    name,
    isInService: !isOut(index),
    takesRoom: isOut(index),
    drift: LONG_DRIFTED,
  }));
}

/** Any pool that cannot all be unavailable at once, at any time. */
const pool = fc
  .record({ count: fc.integer({ min: 2, max: 12 }), now: fc.integer({ min: 0, max: 2 ** 41 }) })
  .chain(({ count, now }) =>
    fc.record({
      count: fc.constant(count),
      now: fc.constant(now),
      maxUnavailable: fc.integer({ min: 1, max: count - 1 }),
    }),
  );

describe('the turn of a host to disturb its services', () => {
  it('never is that of more than may be unavailable, with the repairs that began in one', () => {
    fc.assert(
      fc.property(pool, ({ count, now, maxUnavailable }) => {
        const members = aPool(count);
        // As if all had drifted, asked all the time, and began and ended as late as possible.
        const atIt = new Map<string, number>();
        let most = 0;
        for (let at = now; at < now + 3 * REPAIR_WINDOW.window; at += 10 * SECOND) {
          for (const [node, until] of atIt) if (until < at) atIt.delete(node);
          for (const { name: node } of members) {
            if (!mayDisturb({ node, members, maxUnavailable, now: at })) continue;
            atIt.set(node, at + REPAIR_WINDOW.begun + REPAIR);
          }
          most = Math.max(most, atIt.size);
        }
        expect(most).toBeLessThanOrEqual(maxUnavailable);
      }),
    );
  });

  it('is that of no more than those leave that are out of service', () => {
    const withOut = pool.chain((given) =>
      fc.record({
        given: fc.constant(given),
        out: fc.uniqueArray(fc.nat({ max: given.count - 1 })),
      }),
    );
    fc.assert(
      fc.property(withOut, ({ given: { count, now, maxUnavailable }, out }) => {
        const members = aPool(count, (index) => out.includes(index));
        const allowed = names(count).filter((node, index) => {
          return !out.includes(index) && mayDisturb({ node, members, maxUnavailable, now });
        });

        expect(allowed.length).toBeLessThanOrEqual(Math.max(0, maxUnavailable - out.length));
      }),
      { numRuns: 1000 },
    );
  });

  it('comes to every host that keeps asking once in each round', () => {
    fc.assert(
      fc.property(pool, fc.nat({ max: ASKS_EVERY }), ({ count, now, maxUnavailable }, offset) => {
        const members = aPool(count);
        const round = Math.ceil(count / maxUnavailable) * REPAIR_WINDOW.window;
        for (const node of names(count)) {
          let at = now + offset;
          while (!mayDisturb({ node, members, maxUnavailable, now: at })) at += ASKS_EVERY;
          expect(at).toBeLessThanOrEqual(now + offset + round + REPAIR_WINDOW.asked);
        }
      }),
    );
  });

  it('comes to every host also while one is out of service for good, and leaves room', () => {
    const members = aPool(6, (index) => index === 0);
    const windows = Array.from({ length: 3 * 3 }, (_, window) => window * REPAIR_WINDOW.window);

    for (const node of names(6)) {
      const turns = windows.filter((now) => mayDisturb({ node, members, maxUnavailable: 2, now }));
      expect(turns).not.toEqual([]);
    }
  });

  it.each([
    ['itself out of service', { members: aPool(3, (index) => index === 1) }, true],
    ['of a pool that may be unavailable as a whole', { maxUnavailable: 3 }, true],
    ['of a pool of which nobody knows how many may', { maxUnavailable: 0 }, false],
    ['that is not of the pool', { members: aPool(1) }, false],
    ['on its way to another config', { members: onItsWay(1) }, false],
    [
      'beside one on its way, in its turn',
      { members: onItsWay(0), now: REPAIR_WINDOW.window },
      false,
    ],
    ['on its way, in its turn', { members: onItsWay(1), now: REPAIR_WINDOW.window }, true],
    ['in its turn', { now: REPAIR_WINDOW.window }, true],
    ['late in its turn', { now: REPAIR_WINDOW.window + REPAIR_WINDOW.asked }, false],
  ])('is that of a node %s', (_what, given, expected) => {
    const question = { node: 'node-1', members: aPool(3), maxUnavailable: 1, now: 0, ...given };

    expect(mayDisturb(question)).toBe(expected);
  });
});

describe('drift and repairs in the middle of a window', () => {
  const start = 7 * REPAIR_WINDOW.window;
  const aPoolWith = (drift: readonly (TurnMember['drift'] | undefined)[]): TurnMember[] =>
    aPool(drift.length).map(({ name, isInService, takesRoom }, index) => {
      const own = drift[index];
      return { name, isInService, takesRoom, ...(own === undefined ? {} : { drift: own }) };
    });
  const allowed = (members: readonly TurnMember[], now: number): readonly string[] =>
    members
      .map(({ name }) => name)
      .filter((node) => mayDisturb({ node, members, maxUnavailable: 1, now }));

  it('waits for the next window, in which no other node has a place', () => {
    const members = aPoolWith([
      { isDrifted: true, since: start - REPAIR_WINDOW.known },
      undefined,
      undefined,
    ]);

    expect(allowed(members, start)).toEqual([]);
    expect(allowed(members, start + REPAIR_WINDOW.window)).toEqual(['node-0']);
  });

  it('changes nothing for the others of that window', () => {
    const before = aPoolWith([LONG_DRIFTED, LONG_DRIFTED, LONG_DRIFTED, undefined]);
    const [own = ''] = allowed(before, start);
    const since = start + 60 * SECOND;
    const after = before.map((member) =>
      member.name === own || member.name === 'node-3'
        ? { ...member, drift: { isDrifted: member.name === 'node-3', since } }
        : member,
    );

    expect(allowed(after, since + SECOND)).toEqual([own]);
    expect(allowed(after, start + REPAIR_WINDOW.window)).not.toEqual([own]);
  });
});

/** Of three nodes one serves, and may go down at any moment. */
function onItsWay(which: number): TurnMember[] {
  return aPool(3).map((member, index) => ({ ...member, takesRoom: index === which }));
}
