/** One seed, from the first look to the last word. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import type { NodeStatus } from '../../workflows/contracts/update';
import { Chance, VirtualClock } from './clock';
import { Excuses } from './excuses';
import { SILENCE_MS, type Violation } from './observer';
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
const UPDATE = updateNodeId('');
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
  private readonly excuses: Excuses;
  /** By pool. */
  private readonly good: ReadonlyMap<string, string>;
  private calmAt = Infinity;
  private isOver = false;
  /** When an update was seen without anything to do, and how long its history was. */
  private readonly idle = new Map<string, { readonly events: number; readonly at: number }>();
  /** By pool. */
  private readonly silentSince = new Map<
    string,
    { readonly picture: string; readonly at: number }
  >();

  constructor(
    private readonly world: World,
    scenario: Scenario,
    private readonly horizonMs: number,
  ) {
    const { clock, chance } = world;
    this.operator = new Operator(world, world.invariants);
    this.excuses = new Excuses(world);
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
    this.listen();
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

  /** I6: every so often it is asked what is waited for. */
  private listen(): void {
    this.world.clock.after(SILENCE_MS / 2, async () => {
      await this.lookForSilence();
      this.listen();
    });
  }

  private async lookForSilence(): Promise<void> {
    const { temporal, invariants, clock } = this.world;
    for (const execution of temporal.open()) {
      if (execution.id.startsWith('pool-rollout/')) continue;
      const status = (await execution.query('status')) as NodeStatus | undefined;
      if (status !== undefined) this.excuses.heardUpdate(execution, status);
      const known = this.idle.get(execution.runId);
      const { blocker, phase } = status ?? {};
      const isIdle = phase !== undefined && blocker === undefined;
      if (!isIdle || known?.events !== execution.events) {
        this.idle.set(execution.runId, { events: execution.events, at: clock.now });
        continue;
      }
      const waited = clock.now - known.at;
      if (waited > SILENCE_MS) {
        invariants.break('I6', `${execution.id} waits silently in ${phase} for ${waited / 1000} s`);
      }
    }
    for (const pool of this.world.pools) this.lookAtRollout(pool);
  }

  private lookAtRollout(pool: string): void {
    const { invariants, clock, temporal, cluster, client } = this.world;
    const said = this.world.rollout(pool);
    if (said === undefined || !temporal.isRunning(poolRolloutId(pool))) {
      this.excuses.forgetRollout(pool);
      this.silentSince.delete(pool);
      return;
    }
    this.excuses.heardRollout(pool, said);
    const { state, blocker, done, grants } = said;
    const updates = temporal.open().filter(({ id }) => id.startsWith(UPDATE));
    // Temporal shows a step that is tried again, and why.
    const isStruck = temporal.find(poolRolloutId(pool))?.underWay().isStruck === true;
    const isAway = cluster.isAway || client.isAway;
    const isBusy = blocker !== undefined || updates.length > 0 || isAway || isStruck;
    const picture = JSON.stringify([done, grants.map(({ run }) => run)]);
    const known = this.silentSince.get(pool);
    if (isBusy || known?.picture !== picture) {
      if (isBusy) this.silentSince.delete(pool);
      else this.silentSince.set(pool, { picture, at: clock.now });
      return;
    }
    const waited = clock.now - known.at;
    if (waited <= SILENCE_MS) return;
    const seconds = waited / 1000;
    invariants.break(
      'I6',
      `the rollout of ${pool} says ${state} and waits silently for ${seconds} s`,
    );
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
