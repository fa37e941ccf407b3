import fc from 'fast-check';

import { canaryLimit, decideSlots, settleBroken } from '../../../../core/rollout';

/**
 * A small cluster in which anything may happen in any order, seen through a cache that lags by any number of
 * steps. The rollout below keeps its state as the workflow does; the observer sees only real events and keeps its
 * own state.
 */
const NODES = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'] as const;
type Name = (typeof NODES)[number];

type Step =
  | { readonly kind: 'look'; readonly lag: number }
  | { readonly kind: 'grant' }
  | { readonly kind: 'retarget' }
  | {
      readonly kind: 'cordon' | 'finish' | 'fail' | 'break' | 'lose' | 'goDown' | 'comeBack';
      readonly node: Name;
    };

/** The state in the cache. */
interface View {
  readonly down: readonly Name[];
  readonly unfinished: readonly Name[];
  readonly updated: readonly Name[];
}

const NOTHING: View = { down: [], unfinished: [], updated: [] };

/** The real state: unavailable nodes, and the verified config of each node. */
class World {
  readonly down = new Set<Name>();
  /** Nodes that an update of ours left unavailable; only these may be repaired. */
  readonly unfinished = new Set<Name>();
  readonly configs = new Map<Name, number>();
  private readonly history: View[] = [];
  private seen = 0;
  config = 0;

  record(): void {
    this.history.push({
      down: [...this.down],
      unfinished: [...this.unfinished],
      updated: NODES.filter((node) => this.configs.get(node) === this.config),
    });
  }

  /** The cache never runs backwards, but may lag without limit. */
  look(lag: number): View {
    this.seen = Math.max(this.seen, this.history.length - 1 - lag);
    return this.history[this.seen] ?? NOTHING;
  }
}

/** Sees nodes become unavailable and return. Knows nothing of views, unions or the code under test. */
class Observer {
  private readonly disturbed: {
    readonly node: Name;
    readonly config: number;
    readonly anew: boolean;
  }[] = [];
  readonly complaints: string[] = [];

  constructor(
    private readonly world: World,
    private readonly limit: number,
    private readonly canaryNodes: number,
  ) {}

  letGo(node: Name): void {
    // A node that is unavailable for another reason may return before its cordon.
    const anew = !this.world.unfinished.has(node);
    if (this.disturbed.some((entry) => entry.node === node)) {
      this.complaints.push(`let go ${node}: twice`);
    }
    this.disturbed.push({ node, config: this.world.config, anew });
    this.check(`let go ${node}`, anew);
  }

  cameBack(node: Name): void {
    const index = this.disturbed.findIndex((entry) => entry.node === node);
    if (index >= 0) this.disturbed.splice(index, 1);
  }

  private check(what: string, anew: boolean): void {
    const broken = NODES.filter((node) => this.world.unfinished.has(node));
    const names = [...this.disturbed.map(({ node }) => node), ...broken];
    const ours = names.filter((node, index) => names.indexOf(node) === index);
    // Only a healthy node that becomes unavailable can break the limit; a repair takes none down.
    if (anew && ours.length > this.limit) {
      this.complaints.push(`${what}: ${ours.join(' ')} are down by us, the limit is ${this.limit}`);
    }
    const proven = NODES.filter(
      (node) => this.world.configs.get(node) === this.world.config,
    ).length;
    const trying = this.disturbed.filter(({ config }) => config === this.world.config).length;
    if (proven < this.canaryNodes && trying + proven > this.canaryNodes) {
      this.complaints.push(`${what}: ${trying} try a config that ${proven} nodes are verified on`);
    }
  }
}

/** Keeps its state as the workflow does. */
class Rollout {
  readonly holders = new Map<Name, number>();
  broken: readonly Name[] = [];
  /** Every report that a node is verified on a config. */
  readonly reported: { readonly node: Name; readonly config: number }[] = [];
  /** The config on which a node failed: it does not wait for a slot for that one again. */
  readonly failedOn = new Map<Name, number>();
  view = NOTHING;

  constructor(
    private readonly world: World,
    private readonly observer: Observer,
    private readonly limit: number,
    private readonly canaryNodes: number,
  ) {}

  look(lag: number): void {
    this.view = this.world.look(lag);
    this.broken = settleBroken(this.broken, this.view.down) as readonly Name[];
  }

  grant(): void {
    const config = this.world.config;
    const trying = [...this.holders].filter(([, on]) => on === config).map(([node]) => node);
    const reported = this.reported.filter((report) => report.config === config);
    const canary = canaryLimit({
      policy: { canaryNodes: this.canaryNodes },
      updated: this.view.updated.length,
      updatedNodes: this.view.updated,
      reported: { count: reported.length, nodes: reported.map(({ node }) => node) },
      trying,
    });
    const { granted } = decideSlots({
      maxUnavailable: this.limit,
      unavailable: this.view.down,
      downOtherwise: this.view.down
        .filter((name) => !this.view.unfinished.includes(name))
        .map((name) => ({ node: name, reason: 'not Ready' })),
      holders: [...this.holders.keys(), ...this.broken],
      waiting: this.waiting(),
      ...(canary === undefined ? {} : { canary }),
    });
    for (const node of granted as readonly Name[]) {
      this.holders.set(node, config);
      this.observer.letGo(node);
    }
  }

  /** Sorted as in `observePool`: repairs first. A prepared node may become unavailable while it waits. */
  private waiting(): readonly Name[] {
    const open = NODES.filter(
      (node) =>
        this.world.configs.get(node) !== this.world.config &&
        this.failedOn.get(node) !== this.world.config &&
        !this.holders.has(node),
    );
    const repairs = open.filter((node) => this.world.unfinished.has(node));
    const healthy = open.filter(
      // An older view of a node that has returned since is known to be older.
      (node) => !this.world.unfinished.has(node) && !this.view.unfinished.includes(node),
    );
    return [...repairs, ...healthy];
  }
}

function take(step: Step, world: World, rollout: Rollout, observer: Observer): void {
  switch (step.kind) {
    case 'look':
      rollout.look(step.lag);
      break;
    case 'grant':
      rollout.grant();
      break;
    case 'retarget':
      world.config += 1;
      rollout.view = { ...rollout.view, updated: [] };
      break;
    case 'goDown':
      world.down.add(step.node);
      break;
    case 'comeBack':
      // A node that we left unavailable returns only through a repair.
      if (!rollout.holders.has(step.node) && !world.unfinished.has(step.node)) {
        world.down.delete(step.node);
      }
      break;
    default:
      work(step.kind, step.node, world, rollout, observer);
  }
  world.record();
}

/** The actions of an update that holds a slot. */
function work(
  kind: 'cordon' | 'finish' | 'fail' | 'break' | 'lose',
  node: Name,
  world: World,
  rollout: Rollout,
  observer: Observer,
): void {
  const config = rollout.holders.get(node);
  if (config === undefined) return;
  if (kind === 'cordon') {
    world.down.add(node);
    return;
  }
  rollout.holders.delete(node);
  rollout.broken = rollout.broken.filter((name) => name !== node);
  observer.cameBack(node);
  if (kind === 'fail' || kind === 'break') rollout.failedOn.set(node, config);
  if (kind === 'break' || kind === 'lose') {
    world.down.add(node);
    world.unfinished.add(node);
    rollout.broken = [...rollout.broken, node];
    return;
  }
  world.down.delete(node);
  world.unfinished.delete(node);
  if (kind === 'finish') {
    world.configs.set(node, config);
    rollout.reported.push({ node, config });
  }
}

const node = fc.constantFrom(...NODES);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('look' as const), lag: fc.nat(12) }) },
  { weight: 5, arbitrary: fc.constant({ kind: 'grant' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'retarget' as const }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('cordon' as const, 'finish' as const, 'fail' as const),
      node,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('break' as const, 'lose' as const), node }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('goDown' as const, 'comeBack' as const), node }),
  },
);

describe('slots in any history', () => {
  it('are never over-granted, and the canary is never in company', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(2),
        fc.array(step, { maxLength: 120 }),
        (limit, canaryNodes, steps) => {
          const world = new World();
          const observer = new Observer(world, limit, canaryNodes);
          const rollout = new Rollout(world, observer, limit, canaryNodes);
          world.record();

          for (const next of steps) take(next, world, rollout, observer);

          expect(observer.complaints).toEqual([]);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('never go to a healthy node while as many are unavailable as may be', () => {
    const names = fc.uniqueArray(node);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        names,
        names,
        names,
        (limit, down, holders, waiting) => {
          const { granted, withheld } = decideSlots({
            maxUnavailable: limit,
            unavailable: down,
            holders,
            waiting,
          });

          const anew = granted.filter((name) => !down.includes(name as Name));
          const before = NODES.filter((name) => down.includes(name) || holders.includes(name));
          expect(anew.length).toBeLessThanOrEqual(Math.max(0, limit - before.length));
          expect([...granted, ...withheld.map((entry) => entry.node)].sort()).toEqual(
            waiting.filter((name) => !holders.includes(name)).sort(),
          );
        },
      ),
    );
  });

  it('are all in use when enough nodes want one', () => {
    const names = fc.uniqueArray(node);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), names, names, (limit, down, holders) => {
        const taken = NODES.filter((name) => down.includes(name) || holders.includes(name));
        const waiting = NODES.filter((name) => !taken.includes(name));

        const { granted } = decideSlots({
          maxUnavailable: limit,
          unavailable: down,
          holders,
          waiting,
        });

        const free = Math.max(0, limit - taken.length);
        expect(granted).toHaveLength(Math.min(free, waiting.length));
      }),
    );
  });
});
