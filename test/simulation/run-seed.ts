/** One seed, from the first look to the last word. */

import { Chance, VirtualClock } from './clock';
import { Listener } from './listener';
import type { Violation } from './observer';
import { scenarioOf, type Scenario } from './scenario';
import { isTainted } from './taints';
import type { Sandbox } from './temporal/sandbox';
import { START, Trace } from './trace';
import type { SimulatedConfig } from './world/journal';
import type { ActivityPlants } from './world/plants';
import {
  Operator,
  planEdits,
  planIncidents,
  planLatePods,
  planLosses,
  planLostDatabases,
  planLostGrants,
  planLostRollouts,
  planMoves,
  planRecreations,
  planTemporalAway,
  planUncordons,
} from './world/people';
import { poolOfLabels } from './world/pools';
import { World } from './world/world';

/** Whoever has not finished in fine weather by then never will. */
const HORIZON_MS = 8 * 3_600_000;
const PREFIX = 'machineconfiguration.openshift.io';
const CONFIGS = ['currentConfig', 'desiredConfig'] as const;
const VISIT_MS = 120_000;
/** More events than any run has; a run that goes on for ever in no time ends here. */
const MOST_EVENTS = 400_000;

export interface Outcome {
  readonly seed: number;
  readonly scenario: Scenario;
  /** Events of the simulation. */
  readonly events: number;
  /** Virtual seconds. */
  readonly seconds: number;
  readonly violations: readonly Violation[];
  /** The same for two runs that did the same. */
  readonly digest: string;
  readonly trace: Trace;
}

interface RunOptions {
  readonly sandbox: Sandbox;
  readonly plants?: ActivityPlants;
  readonly scenario?: Scenario;
  /** How long fine weather lasts before it is said that the rollout does not end. */
  readonly horizonMs?: number;
}

/** Runs a seed until all is at rest or the first invariant is broken. */
export async function runSeed(seed: number, options: RunOptions): Promise<Outcome> {
  const scenario = options.scenario ?? scenarioOf(seed);
  const chance = new Chance(seed);
  const clock = new VirtualClock(START);
  const trace = new Trace(() => clock.now);
  const { sandbox, plants = {} } = options;
  const world = new World({ clock, chance, trace, sandbox, scenario, plants });
  const run = new Run(world, scenario, options.horizonMs ?? HORIZON_MS);
  await run.toTheEnd();
  for (const execution of world.temporal.open()) await execution.close('terminated');
  const { violations } = world.invariants;
  return {
    ...{ seed, scenario, violations, trace },
    events: clock.steps,
    seconds: (clock.now - START) / 1000,
    digest: trace.digest(),
  };
}

class Run {
  private readonly operator: Operator;
  /** By pool. */
  private readonly good: ReadonlyMap<string, string>;
  private calmAt = Infinity;
  private isOver = false;

  constructor(
    private readonly world: World,
    scenario: Scenario,
    private readonly horizonMs: number,
  ) {
    const { clock, chance } = world;
    this.operator = new Operator(world, world.invariants);
    this.good = new Map(scenario.pools.map(({ name, configs }) => [name, goodOne(configs)]));
    planIncidents(world, scenario, chance.fork());
    if (scenario.moves + scenario.joins > 0) planMoves(world, scenario, chance.fork());
    planLosses(world, scenario);
    planUncordons(world, scenario);
    planLostRollouts(world, scenario);
    planLatePods(world, scenario);
    planEdits(world, scenario);
    planLostDatabases(world, scenario);
    planLostGrants(world, scenario);
    planRecreations(world, scenario);
    planTemporalAway(world, scenario);
    world.controllers.begin();
    clock.after(scenario.unrestMs, async () => {
      this.calmAt = clock.now;
      await this.operator.settle(this.good);
      this.visit();
    });
    new Listener(world).begin();
  }

  async toTheEnd(): Promise<void> {
    const { clock, invariants } = this.world;
    while (!this.isOver && invariants.violations.length === 0) {
      if (!(await clock.step())) break;
      invariants.lookAround();
      if (clock.now - this.calmAt > this.horizonMs || clock.steps > MOST_EVENTS) this.giveUp();
    }
  }

  private visit(): void {
    this.world.clock.after(VISIT_MS, () => {
      if (this.isAtRest()) {
        this.isOver = true;
        this.world.invariants.atRest(this.good, (pool) => this.world.controllers.statusOf(pool));
        return;
      }
      this.operator.visit();
      this.visit();
    });
  }

  private isAtRest(): boolean {
    const { temporal, cluster } = this.world;
    if (temporal.open().length > 0) return false;
    // One that failed on another config has its current one, and is not there all the same.
    return [...cluster.nodes.values()].every((node) => {
      const { annotations = {} } = node.metadata;
      const good = this.good.get(poolOfLabels(node));
      const isThere = CONFIGS.every((which) => annotations[`${PREFIX}/${which}`] === good);
      return isThere && !isTainted(node);
    });
  }

  private giveUp(): void {
    const { invariants, cluster, temporal } = this.world;
    const rollouts = this.world.pools.map((pool) => ({ pool, ...this.world.rollout(pool) }));
    const open = temporal.open().map(({ id }) => id);
    const nodes = [...cluster.nodes.values()].map(({ metadata }) => metadata.annotations);
    const seen = JSON.stringify({ rollouts, open, nodes });
    invariants.break('I6', `in fine weather it does not end: ${seen.slice(0, 2_000)}`);
    this.isOver = true;
  }
}

/** The config that a pool ends on: the first one that works. */
function goodOne(configs: readonly SimulatedConfig[]): string {
  const isGood = (config: SimulatedConfig): boolean =>
    !config.unreconcilable &&
    !config.doesNotBoot &&
    !config.cutsNetwork &&
    config.cutsWhenWritten !== true &&
    config.cutsOnceVerified !== true &&
    !config.neverReady &&
    !config.unitFails;
  return (configs.slice(1).find(isGood) ?? configs[0])?.name ?? '';
}
