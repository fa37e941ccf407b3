import fc from 'fast-check';
import { ANNOTATION } from '../../../../core/names';
import { preparedMark } from '../../../../core/node/prepared';
import { overMarkOf, turnOf } from '../../../../core/node/turn';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import { decide, type Decision } from '../../../../core/rollout/decide';
import type { PoolRolloutStatus } from '../../../../core/rollout/pool-rollout';
import { DEFAULT_POLICY } from '../../../../core/rollout';
import { A, aNode, aPool, B } from '../pool/builders';
import { OURS } from './rollout-pool';

/**
 * A model of a pool: updates that prepare, wait, cordon, end, fail and are terminated in any order, seen by two
 * workers through caches that are behind. What decides is the product's; the PoolRollout has optimistic concurrency.
 */
const NAMES = ['n0', 'n1', 'n2', 'n3', 'n4'] as const;
const MAX = 2;

interface Machine {
  config: string;
  desired: string;
  state: string;
  mark: string;
  cordoned: boolean;
  ready: boolean;
  prepared: string;
}

interface Update {
  readonly id: string;
  readonly startedAt: string;
  stage: 'preparing' | 'waiting' | 'out';
}

type Event =
  | { readonly kind: 'begin' | 'end'; readonly worker: 0 | 1; readonly lag: number }
  | {
      readonly kind:
        | 'prepare'
        | 'cordon'
        | 'write'
        | 'finish'
        | 'fail'
        | 'break'
        | 'terminate'
        | 'goDown'
        | 'comeBack'
        | 'retry';
      readonly node: number;
      readonly lag: number;
    };

type Picture = ReadonlyMap<string, Machine>;

class Model {
  readonly machines = new Map<string, Machine>();
  readonly updates = new Map<string, Update>();
  readonly everRun = new Map<string, string>();
  status: PoolRolloutStatus | undefined;
  version = 0;
  clock = Date.parse('2029-06-01T00:00:00Z');
  readonly #history: Picture[] = [];
  /** Cordons that are decided and not written, also of updates that are terminated meanwhile. */
  readonly #cordons = new Map<string, { readonly update: Update; readonly node: string }>();
  readonly #begun = new Map<number, { readonly version: number; readonly decision: Decision }>();
  #runs = 0;
  /** The most that were under our cordon at once. */
  mostOut = 0;

  constructor() {
    for (const name of NAMES) {
      const state = { config: A, desired: A, state: 'Done', mark: '', prepared: '' };
      this.machines.set(name, { ...state, cordoned: false, ready: true });
    }
    this.record();
  }

  record(): void {
    this.clock += 1000;
    const copies = [...this.machines].map(([name, one]) => [name, { ...one }] as const);
    this.#history.push(new Map(copies));
    this.mostOut = Math.max(this.mostOut, this.ours());
  }

  ours(): number {
    return [...this.machines.values()].filter(({ cordoned }) => cordoned).length;
  }

  picture(lag: number): Picture {
    return this.#history[Math.max(0, this.#history.length - 1 - lag)] ?? new Map();
  }

  begin(worker: number, lag: number): void {
    const picture = this.picture(lag);
    const observed = {
      pool: aPool({ maxUnavailable: MAX }),
      policy: { ...DEFAULT_POLICY, canaryNodes: 0, failureThreshold: 100 },
      nodes: [...picture].map(([name, machine]) => nodeOf(name, machine)),
      controlPlane: [],
      machineConfigNodes: [...picture].map(([name, machine]) => machineConfigNodeOf(name, machine)),
      open: {
        listedAt: this.now(),
        updates: [...this.updates].map(([node, { id }]) => ({ node, run: id, config: B })),
      },
      now: this.now(),
      ...(this.status === undefined ? {} : { before: this.status }),
    };
    const first = decide({ ...observed, closed: new Set() });
    const closed = new Set(
      first.inDoubt
        .filter(({ node, run }) => this.updates.get(node)?.id !== run)
        .map(({ run }) => run),
    );
    const decision = closed.size === 0 ? first : decide({ ...observed, closed });
    this.#begun.set(worker, { version: this.version, decision });
  }

  end(worker: number): void {
    const begun = this.#begun.get(worker);
    this.#begun.delete(worker);
    if (begun === undefined || begun.version !== this.version) return;
    const { decision } = begun;
    this.status = decision.status;
    this.version += 1;
    for (const { node, run, startedAt } of decision.close) {
      const machine = this.machine(node);
      if (!machine.cordoned) machine.mark = overMarkOf({ id: run, startedAt });
    }
    for (const { node } of decision.start) {
      if (this.updates.has(node)) continue;
      const id = `r${(this.#runs += 1)}`;
      this.updates.set(node, { id, startedAt: this.now(), stage: 'preparing' });
    }
  }

  act(event: Exclude<Event, { readonly worker: 0 | 1 }>): void {
    const name = NAMES[event.node] ?? 'n0';
    const machine = this.machine(name);
    const update = this.updates.get(name);
    if (event.kind === 'goDown') machine.ready = false;
    if (event.kind === 'comeBack') machine.ready = true;
    if (event.kind === 'retry' && machine.state === 'Degraded' && update === undefined) {
      machine.state = 'Done';
      machine.desired = machine.config;
    }
    if (event.kind === 'write') this.write(name, machine);
    if (update === undefined) return;
    if (event.kind === 'terminate') this.updates.delete(name);
    else if (event.kind === 'prepare' && update.stage === 'preparing') {
      update.stage = 'waiting';
      machine.prepared = preparedMark(update, B, false);
    } else if (event.kind === 'cordon') this.cordon(name, machine, update, event.lag);
    else if (event.kind === 'finish' && update.stage === 'out') {
      this.giveBack(name, machine, { config: B, desired: B, state: 'Done', cordoned: false });
    } else if (event.kind === 'fail') {
      const failed = { desired: B, state: 'Degraded' };
      this.giveBack(name, machine, update.stage === 'out' ? { ...failed, cordoned: false } : {});
    } else if (event.kind === 'break' && update.stage === 'out') {
      this.giveBack(name, machine, { desired: B, state: 'Degraded', cordoned: true });
    }
  }

  /** As the wait for the grant and the cordon do: the grant, room once more, and one PATCH with the mark. */
  cordon(name: string, machine: Machine, update: Update, lag: number): void {
    const grants = this.status?.grants ?? [];
    const place = grants.findIndex((grant) => grant.node === name && grant.run === update.id);
    if (update.stage !== 'waiting' || place < 0) return;
    const granted = new Set(grants.map(({ node }) => node));
    const down = [...this.picture(lag)].filter(
      ([node, { ready, cordoned }]) => node !== name && (!ready || cordoned) && !granted.has(node),
    );
    if (!machine.cordoned && down.length + place >= MAX) return;
    this.#cordons.set(name, { update, node: JSON.stringify(machine) });
  }

  /** Refused when the Node has changed since. */
  private write(name: string, machine: Machine): void {
    const cordon = this.#cordons.get(name);
    this.#cordons.delete(name);
    if (cordon === undefined || cordon.node !== JSON.stringify(machine)) return;
    const turn = turnOf(machine.mark, cordon.update, 'takes');
    if (!turn.ok) return;
    Object.assign(machine, { mark: turn.mark, desired: B, state: 'Working', cordoned: true });
    cordon.update.stage = 'out';
  }

  private giveBack(name: string, machine: Machine, change: Partial<Machine>): void {
    const update = this.updates.get(name);
    if (update === undefined) return;
    const turn = turnOf(machine.mark, update, 'gives back');
    if (turn.ok) Object.assign(machine, { ...change, mark: turn.mark });
    this.updates.delete(name);
  }

  private machine(name: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new Error(`there is no machine ${name}`);
    return machine;
  }

  now(): string {
    return new Date(this.clock).toISOString();
  }
}

function nodeOf(name: string, machine: Machine): Node {
  const node = aNode(name, {
    ...{ current: machine.config, desired: machine.desired, state: machine.state },
    ready: machine.ready ? 'True' : 'False',
    ...(machine.cordoned ? { cordonedBy: OURS } : {}),
    annotations: machine.mark === '' ? {} : { [ANNOTATION.UPDATE_RUN]: machine.mark },
  });
  return { ...node, metadata: { ...node.metadata, uid: name } };
}

function machineConfigNodeOf(name: string, { prepared }: Machine): MachineConfigNode {
  return {
    metadata: { name, annotations: { [ANNOTATION.PREPARED]: prepared } },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: B } },
  };
}

const lag = fc.nat({ max: 6 });
const node = fc.nat({ max: NAMES.length - 1 });
const events = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('begin' as const, 'end' as const),
        worker: fc.constantFrom(0 as const, 1 as const),
        lag,
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('prepare' as const), node, lag }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('cordon' as const), node, lag }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const), node, lag }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('finish' as const), node, lag }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          ...(['fail', 'break', 'terminate', 'goDown', 'comeBack', 'retry'] as const),
        ),
        node,
        lag,
      }),
    },
  ),
  { minLength: 20, maxLength: 100 },
);

function play(model: Model, event: Event): void {
  if (event.kind === 'begin') model.begin(event.worker, event.lag);
  else if (event.kind === 'end') model.end(event.worker);
  else model.act(event as Exclude<Event, { readonly worker: 0 | 1 }>);
  model.record();
}

/** Everything works from here on: nobody is behind, and every update goes through. */
function settle(model: Model): void {
  for (let round = 0; round < 12; round += 1) {
    for (const machine of model.machines.values()) machine.ready = true;
    model.record();
    model.begin(0, 0);
    model.end(0);
    for (const kind of ['prepare', 'cordon', 'write', 'finish', 'retry'] as const) {
      NAMES.forEach((_, index) => play(model, { kind, node: index, lag: 0 }));
    }
  }
  model.begin(0, 0);
  model.end(0);
}

describe('grants, whatever happens in whatever order', () => {
  it('take no more nodes out of service than the pool allows, and bring all of them back', () => {
    fc.assert(
      fc.property(events, (happened) => {
        const model = new Model();
        for (const event of happened) play(model, event);
        settle(model);

        const rest = [...model.machines].map(([name, { config, cordoned }]) => [
          name,
          config,
          cordoned,
        ]);
        expect(model.mostOut).toBeLessThanOrEqual(MAX);
        expect(rest).toEqual(NAMES.map((name) => [name, B, false]));
        expect(model.status?.grants).toEqual([]);
      }),
      { numRuns: 100, seed: 20291 },
    );
  });
});
