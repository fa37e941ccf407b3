import fc from 'fast-check';

import { decideSlots, slotNumber } from '../../../../core/rollout';

/**
 * Nodes that get slots from one rollout, and are cordoned by workers none of which sees what the others
 * are about to write. Meanwhile nodes go down by themselves and come back, and the limit changes.
 */
const NODES = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'] as const;
type Name = (typeof NODES)[number];

type Step =
  | { readonly kind: 'grant' | 'cordonAll' }
  | { readonly kind: 'goDownOrComeBack' | 'finish'; readonly node: Name }
  | { readonly kind: 'limit'; readonly limit: number };

class Pool {
  limit = 2;
  readonly numbers = new Map<Name, number>();
  readonly cordoned = new Set<Name>();
  readonly downOtherwise = new Set<Name>();
  /** Nodes that were let go although there was no room. */
  tooMany: readonly Name[] = [];

  grant(): void {
    const unavailable = [...this.downOtherwise, ...this.cordoned];
    const downOtherwise = [...this.downOtherwise].map((node) => ({ node, reason: 'not Ready' }));
    const { granted } = decideSlots({
      ...{ maxUnavailable: this.limit, unavailable, downOtherwise },
      ...{ holders: [...this.numbers.keys()], waiting: NODES },
    });
    for (const node of granted as readonly Name[]) {
      this.numbers.set(node, 0);
      const holders = [...this.numbers.keys()];
      const request = { unavailable, downOtherwise, holders };
      this.numbers.set(node, slotNumber(request, downOtherwise.length));
    }
  }

  /** All of them decide on the same picture, and only then is anything written. */
  cordonAll(): void {
    const trying = [...this.numbers].filter(([node]) => !this.cordoned.has(node));
    const going = trying.filter(([node, number]) => this.hasRoom(node, number));
    for (const [node] of trying) {
      if (!going.some(([name]) => name === node)) this.numbers.delete(node);
    }
    for (const [node] of going) {
      this.cordoned.add(node);
      this.downOtherwise.delete(node);
    }
    const out = [...this.cordoned, ...this.downOtherwise];
    if (going.length > 0 && out.length > this.limit) this.tooMany = out;
  }

  private hasRoom(node: Name, number: number): boolean {
    const others = [...this.downOtherwise].filter((name) => name !== node).length;
    return others + this.cordoned.size < this.limit && others + number <= this.limit;
  }

  finish(node: Name): void {
    if (this.cordoned.delete(node)) this.numbers.delete(node);
  }

  goDownOrComeBack(node: Name): void {
    if (this.cordoned.has(node) || this.downOtherwise.delete(node)) return;
    this.downOtherwise.add(node);
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('grant' as const, 'cordonAll' as const) }),
  fc.record({
    kind: fc.constantFrom('goDownOrComeBack' as const, 'finish' as const),
    node: fc.constantFrom(...NODES),
  }),
  fc.record({ kind: fc.constant('limit' as const), limit: fc.integer({ min: 1, max: 4 }) }),
);

function take(pool: Pool, what: Step): void {
  if (what.kind === 'limit') pool.limit = what.limit;
  else if ('node' in what) pool[what.kind](what.node);
  else pool[what.kind]();
}

it('lets no more nodes go than may, although nobody sees who else is about to', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const pool = new Pool();
      for (const what of steps) {
        take(pool, what);
        expect(pool.tooMany).toEqual([]);
      }
    }),
    { numRuns: 5_000 },
  );
});

it('refuses nobody while nothing has got worse', () => {
  const downs = fc.uniqueArray(fc.constantFrom(...NODES));
  fc.assert(
    fc.property(downs, fc.integer({ min: 1, max: 4 }), (down, limit) => {
      const pool = new Pool();
      pool.limit = limit;
      for (const node of down) pool.goDownOrComeBack(node);
      pool.grant();
      const given = [...pool.numbers.keys()];
      pool.cordonAll();
      expect([...pool.numbers.keys()]).toEqual(given);
    }),
  );
});
