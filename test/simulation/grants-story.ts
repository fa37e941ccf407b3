/** One rollout in quiet weather, told event by event, while the observer looks on. */

import { ANNOTATION, updateNodeId } from '../../core/names';
import { Listener } from './listener';
import { quietWorld, rebootingConfig } from './quiet-world';
import type { PoolScenario } from './scenario';
import type { ActivityTask } from './temporal/activity-task';
import type { Attempt } from './temporal/attempt';
import type { Execution } from './temporal/execution';
import type { Sandbox } from './temporal/sandbox';
import type { Host } from './world/host';
import type { SimulatedConfig } from './world/journal';
import type { ActivityPlants } from './world/plants';
import { poolOfLabels } from './world/pools';
import type { World } from './world/world';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;

/** Configs of the pool `worker`, the first of which every node is on. */
export const CONFIG = ['', 1, 2, 3, 4].map((number) => `rendered-worker-${number}`);

export interface Told {
  readonly seed?: number;
  readonly nodes?: number;
  readonly pool?: Partial<PoolScenario>;
  /** What is wrong with the second config. */
  readonly bad?: Partial<SimulatedConfig>;
  readonly pools?: readonly Partial<PoolScenario>[];
  readonly plants?: ActivityPlants;
  /** Its workflows; absent = those that are shipped. */
  readonly sandbox?: Sandbox;
  /** It ends where the first invariant is broken. */
  readonly endsWhenBroken?: boolean;
  /** False = nobody begins yet. */
  readonly begins?: boolean;
}

/** A pool of four nodes, one at a time, without a canary, unless told otherwise. */
export async function aStory(told: Told = {}): Promise<Story> {
  const { seed = 1, nodes = 4, pool = {}, bad = {}, pools, plants = {}, begins = true } = told;
  const { sandbox, endsWhenBroken = false } = told;
  const usual = {
    maxUnavailable: 1,
    configs: [1, 2, 3, 4].map((n) => ({ ...rebootingConfig(n), ...(n === 2 ? bad : {}) })),
    ...pool,
    policy: {
      ...{ canary: { nodes: 0 }, failureThreshold: '100%' },
      verify: { readySeconds: 5, reconnectSeconds: 300 },
      ...pool.policy,
    },
  };
  const others = {
    ...(pools === undefined ? {} : { pools }),
    ...(sandbox === undefined ? {} : { sandbox }),
  };
  const { world, trace } = await quietWorld({ seed, nodes, plants, pool: usual, ...others });
  const story = new Story(world, (count) => trace.last(count), endsWhenBroken);
  new Listener(world).begin();
  if (begins) world.controllers.begin();
  return story;
}

export class Story {
  /** The most nodes that were cordoned at once. */
  mostCordoned = 0;
  /** Nodes in the order in which they were cordoned. */
  readonly cordons: string[] = [];

  constructor(
    readonly world: World,
    readonly lastLines: (count: number) => readonly string[],
    private readonly endsWhenBroken: boolean,
  ) {
    world.whenCordoned.push((node) => {
      this.cordons.push(node);
      this.mostCordoned = Math.max(this.mostCordoned, this.cordoned().length);
    });
  }

  // -- Time --------------------------------------------------------------------------------------

  /** Goes on until something holds, and stops right after the event with which it does. */
  async until(holds: () => boolean, patienceMs = HOUR_MS): Promise<void> {
    const { clock } = this.world;
    const end = clock.now + patienceMs;
    while (!holds()) {
      if (clock.now > end) throw new Error(this.told('it did not come about'));
      await this.event();
    }
  }

  /** The same, with what was found. */
  async untilFound<T>(find: () => T | undefined, patienceMs = HOUR_MS): Promise<T> {
    let found = find();
    await this.until(() => (found ??= find()) !== undefined, patienceMs);
    return found as T;
  }

  async pass(ms: number): Promise<void> {
    let isOver = false;
    this.world.clock.after(ms, () => {
      isOver = true;
    });
    while (!isOver) await this.event();
  }

  /** Until an attempt of an activity begins; `act` is done before its first line. */
  async untilAttempt(
    type: string,
    act: (attempt: Attempt) => void | Promise<void> = () => undefined,
  ): Promise<void> {
    const { faults } = this.world;
    const around = faults.around.bind(faults);
    let hasBegun = false;
    faults.around = (attempt, carryOut) => {
      if (attempt.call.type !== type || hasBegun) return around(attempt, carryOut);
      hasBegun = true;
      return around(attempt, async () => {
        await act(attempt);
        return carryOut();
      });
    };
    await this.until(() => hasBegun);
    faults.around = around;
  }

  /** Until every node is on its pool's config and nothing runs any more; then everybody must say the same. */
  async toTheEnd(patienceMs = 3 * HOUR_MS): Promise<void> {
    await this.until(() => this.isDone(), patienceMs);
    await this.pass(MINUTE_MS);
    const { cluster, controllers, invariants, pools } = this.world;
    const targets = pools.map((name) => [name, cluster.pool(name).spec.configuration?.name ?? '']);
    invariants.atRest(new Map(targets as [string, string][]), (pool) => controllers.statusOf(pool));
    this.expectSound();
  }

  expectSound(): void {
    const { violations } = this.world.invariants;
    if (violations.length > 0) throw new Error(this.told(JSON.stringify(violations, null, 1)));
  }

  private async event(): Promise<void> {
    if (!(await this.world.clock.step())) throw new Error('nothing happens any more');
    this.world.invariants.lookAround();
    if (this.endsWhenBroken) this.expectSound();
  }

  private isDone(): boolean {
    const { cluster, temporal } = this.world;
    if (temporal.open().length > 0) return false;
    return [...cluster.nodes.values()].every((node) => {
      const target = cluster.pool(poolOfLabels(node)).spec.configuration?.name;
      const told = node.metadata.annotations ?? {};
      return told[ANNOTATION.CURRENT_CONFIG] === target && told[ANNOTATION.STATE] === 'Done';
    });
  }

  private told(what: string): string {
    const said = this.world.pools.map((pool) => JSON.stringify(this.world.rollout(pool)));
    return [...this.lastLines(60), ...said, what].join('\n');
  }

  // -- What there is -----------------------------------------------------------------------------

  cordoned(): readonly string[] {
    const { nodes } = this.world.cluster;
    return [...nodes].filter(([, { spec }]) => spec?.unschedulable).map(([name]) => name);
  }

  host(name: string): Host {
    const host = this.world.hosts.get(name);
    if (host === undefined) throw new Error(`there is no host ${name}`);
    return host;
  }

  hosts(): readonly Host[] {
    return [...this.world.hosts.values()];
  }

  /** How often each machine has rebooted. */
  reboots(): readonly number[] {
    return this.hosts().map(({ boot }) => boot - 1);
  }

  configs(): readonly string[] {
    return this.hosts().map(({ current }) => current);
  }

  note(node: string, key: string): string | undefined {
    return this.world.cluster.nodes.get(node)?.metadata.annotations?.[key];
  }

  grants(pool = 'worker'): readonly string[] {
    return this.world.grants(pool).map(({ node }) => node);
  }

  /** What PoolRollout says. */
  said(pool = 'worker') {
    const said = this.world.rollout(pool);
    if (said === undefined) throw new Error(`there is no poolrollout ${pool}`);
    return said;
  }

  update(node: string): Execution | undefined {
    const execution = this.world.temporal.find(updateNodeId(node));
    return execution?.status === 'running' ? execution : undefined;
  }

  /** Runs of the update of a node so far. */
  runs(node: string): number {
    const begins = `${updateNodeId(node)}: starts as`;
    return this.lastLines(100_000).filter((line) => line.includes(begins)).length;
  }

  /** An activity that the update of a node has out. */
  step(node: string, type: string): ActivityTask | undefined {
    const activities = this.update(node)?.activities.values() ?? [];
    return [...activities].find((activity) => activity.type === type);
  }

  // -- Moments -----------------------------------------------------------------------------------

  /** The first node of which it holds. */
  untilHost(holds: (host: Host) => boolean): Promise<Host> {
    return this.untilFound(() => this.hosts().find(holds));
  }

  /** Prepared, without a grant. */
  untilWaiting(): Promise<string> {
    return this.untilFound(() => this.world.waiting().find((node) => this.isPrepared(node)));
  }

  /** The same, while another node has the only grant. */
  untilBehind(): Promise<string> {
    return this.untilFound(() => {
      const [granted] = this.grants();
      if (granted === undefined) return undefined;
      return this.world.waiting().find((node) => node !== granted && this.isPrepared(node));
    });
  }

  private isPrepared(node: string): boolean {
    const { annotations } = this.world.cluster.machineConfigNodes.get(node)?.metadata ?? {};
    return annotations?.[ANNOTATION.PREPARED] !== undefined;
  }

  /** Cordoned, and its pods stay until `letGo`. */
  async untilDraining(): Promise<string> {
    for (const name of this.world.hosts.keys()) {
      this.world.bind(name, { name: 'stays', stuck: true });
    }
    return this.untilFound(() => this.cordoned().find((name) => this.step(name, 'drainNode')));
  }

  letGo(): void {
    for (const pods of this.world.pods.values()) for (const pod of pods) pod.stuck = false;
  }
}

export const isApplied = ({ journal }: Host): boolean =>
  journal?.applied === true && journal.armed === undefined;
export const isArmed = ({ journal, isUp, boot }: Host): boolean =>
  isUp && journal?.armed === boot && journal.goingBack === undefined;
