/** Everything about a run that is decided before it begins, drawn from its seed. */

import type { RolloutPolicySpec } from '../../core/pool/types';
import { Chance } from './clock';
import type { SimulatedConfig } from './world/journal';
import type { Weather } from './world/faults';
import { POOL_NAMES, WORKER } from './world/pools';

/** One pool, with its own limit, policy and configs. */
export interface PoolScenario {
  readonly name: string;
  readonly maxUnavailable: number | string;
  readonly policy: RolloutPolicySpec;
  readonly configs: readonly SimulatedConfig[];
}

export interface Scenario {
  readonly seed: number;
  /** Of all pools; dealt out in turn. */
  readonly nodes: number;
  /** `worker` first. */
  readonly pools: readonly PoolScenario[];
  /** Things that people, machines and the weather do, before everything calms down. */
  readonly incidents: number;
  /** Virtual milliseconds in which they happen. */
  readonly unrestMs: number;
  readonly weather: Weather;
  readonly longHistory: number;
  /** Nodes with a pod that no budget lets go, at first. */
  readonly stuckPods: number;
  /** How often a person moves a node to another pool by its label. */
  readonly moves: number;
  /** Machines that join in the middle: not Ready at first, and not heard of before. */
  readonly joins: number;
  /** Whether the second of the two cluster workers has much to do, so that it sees the cluster late. */
  readonly slowWorker: boolean;
  /** How often a rollout is terminated just after it gave a grant. */
  readonly lostRollouts: number;
  /** How often somebody deletes or edits a PoolRollout while a node has a grant. */
  readonly lostGrants: number;
  /** How often a Node is deleted and registered again by its kubelet. */
  readonly recreated: number;
  /** How often Temporal is away for a while. */
  readonly temporalAway: number;
  /** Pods that are bound to a node after Slipway has cordoned it. */
  readonly latePods: number;
  /** How often Temporal loses everything while a node is out of service. */
  readonly lostDatabases: number;
  /** How often a person edits a managed file of a machine that is being taken out of service. */
  readonly edits: number;
}

/** What of a scenario is not drawn. */
export interface Given {
  /** Chance that an attempt of an activity goes wrong; absent = the seed's own. */
  readonly storm?: number | undefined;
  /** One pool, no machine that joins and none of the younger incidents, whatever the seed says. */
  readonly plain?: boolean | undefined;
}

/** The scenario of a seed, in other weather or without what makes it larger. */
export function stormyScenario(seed: number, { storm, plain }: Given): Scenario {
  const scenario = scenarioOf(seed, plain);
  if (storm === undefined) return scenario;
  return { ...scenario, weather: { ...scenario.weather, activity: storm } };
}

/** As large as a real pool. */
const MOST_NODES = 200;
const MIDDLING_NODES = 40;

/** Most runs are small, so that there are many. Seeds that found something draw what they drew then. */
function nodesFrom(chance: Chance, seed: number): number {
  if (seed % 300 === 299) return MOST_NODES;
  if (seed % 100 === 99) return chance.between(MIDDLING_NODES + 1, MOST_NODES);
  if (seed % 100 === 39) return chance.between(9, MIDDLING_NODES);
  return seed % 10 === 4 ? chance.between(12, MIDDLING_NODES) : chance.between(1, 8);
}

/** All that happens in a large run costs more, so less happens. */
function isLarge(nodes: number): boolean {
  return nodes > MIDDLING_NODES;
}

/** @param plain - one pool, no machine that joins, none of the younger incidents */
export function scenarioOf(seed: number, plain = false): Scenario {
  const chance = new Chance(seed * 7919 + 17);
  const nodes = nodesFrom(chance, seed);
  const large = isLarge(nodes);
  const weather = chance.pick([0, 0.01, 0.03, 0.08]);
  const worker = poolFrom(chance, WORKER, nodes);
  // Numbers of their own: what is drawn below is the same with several pools and without.
  const more = moreFrom(new Chance(seed * 104_729 + 5), nodes, plain);
  const own = new Chance(seed * 15_485_863 + 11);
  return {
    ...{ seed, nodes },
    ...more,
    pools: [worker, ...more.pools].map((pool, index) =>
      plain ? pool : withBadConfigs(pool, own, seed * 49_979 + index),
    ),
    lostRollouts: plain ? 0 : lostRolloutsOf(seed),
    slowWorker: !plain && new Chance(seed * 49_979_687 + 203).is(0.2),
    lostGrants: plain ? 0 : someOf(seed, 301, [1, 2, 4]),
    recreated: plain ? 0 : someOf(seed, 302, [1, 1, 3]),
    temporalAway: plain ? 0 : someOf(seed, 303, [1, 2, 4]),
    latePods: plain ? 0 : latePodsOf(seed),
    edits: plain ? 0 : editsOf(seed),
    lostDatabases: plain ? 0 : lostDatabasesOf(seed),
    incidents: large ? 4 : chance.pick([0, 1, 3, 6, 12, 20]),
    unrestMs: chance.pick([60_000, 300_000, 900_000, 1_800_000]),
    weather: {
      activity: large ? weather / 10 : weather,
      task: chance.pick([0, 0.005, 0.03]) / (large ? 10 : 1),
      memory: chance.pick([0, 0.02, 0.2]) / (large ? 10 : 1),
      message: plain ? 0 : slowMessagesOf(seed),
    },
    longHistory: chance.pick([12, 25, 60, 200, 1_000, 4_096]) * (large ? 4 : 1),
    stuckPods: chance.is(0.3) ? chance.between(1, Math.max(1, Math.floor(nodes / 3))) : 0,
  };
}

/** In every eighth run some. */
function lostRolloutsOf(seed: number): number {
  const chance = new Chance(seed * 67_867_967 + 200);
  return chance.is(0.12) ? chance.pick([1, 2, 4]) : 0;
}

/** In every eighth run some. */
function latePodsOf(seed: number): number {
  const chance = new Chance(seed * 86_028_157 + 203);
  return chance.is(0.12) ? chance.pick([1, 3, 8]) : 0;
}

/** In every eighth run some. */
function editsOf(seed: number): number {
  const chance = new Chance(seed * 67_867_979 + 206);
  return chance.is(0.12) ? chance.pick([1, 2, 4]) : 0;
}

/** In every twelfth run it does. */
function lostDatabasesOf(seed: number): number {
  const chance = new Chance(seed * 67_867_979 + 207);
  return chance.is(0.08) ? chance.pick([1, 1, 2]) : 0;
}

/** In every eighth run some. */
function someOf(seed: number, which: number, counts: readonly number[]): number {
  const chance = new Chance(seed * 67_867_979 + which);
  return chance.is(0.12) ? chance.pick(counts) : 0;
}

/** In every eighth run some messages are. */
function slowMessagesOf(seed: number): number {
  const chance = new Chance(seed * 32_452_843 + 201);
  return chance.is(0.12) ? chance.pick([0.02, 0.1, 0.3]) : 0;
}

/** Every seventh run has several pools, and every seventh has machines that join in the middle. */
function moreFrom(
  chance: Chance,
  nodes: number,
  plain: boolean,
): Pick<Scenario, 'pools' | 'moves' | 'joins'> {
  const several = chance.is(0.15) && nodes > 1 ? chance.pick([1, 1, 2]) : 0;
  const joins = chance.is(0.15) ? chance.pick([1, 1, 2, 4]) : 0;
  if (plain) return { pools: [], moves: 0, joins: 0 };
  const names = POOL_NAMES.slice(1, 1 + several);
  return {
    pools: names.map((name) => poolFrom(chance, name, nodes)),
    moves: several === 0 ? 0 : chance.pick([0, 1, 2, 4]),
    joins,
  };
}

function poolFrom(chance: Chance, name: string, nodes: number): PoolScenario {
  const limits = isLarge(nodes)
    ? [5, 10, '5%', '10%', '30%']
    : [1, 1, 2, 3, nodes, '10%', '34%', '50%'];
  return {
    name,
    maxUnavailable: chance.pick(limits),
    policy: policyFrom(chance),
    configs: Array.from({ length: 4 }, (_, index) => configFrom(chance, name, index)),
  };
}

/** What is drawn for one of them changes nothing of the others. */
function withBadConfigs(pool: PoolScenario, own: Chance, seed: number): PoolScenario {
  const failing = withFailingUnit(withNeverReady(pool, own), new Chance(seed));
  const cutting = withCut(failing, new Chance(seed * 67_867_967 + 208), { cutsWhenWritten: true });
  return withCut(cutting, new Chance(seed * 67_867_967 + 209), { cutsOnceVerified: true });
}

/** In every eighth pool one config cuts its machines off, with a reboot or without. */
function withCut(
  pool: PoolScenario,
  chance: Chance,
  what: Pick<SimulatedConfig, 'cutsWhenWritten' | 'cutsOnceVerified'>,
): PoolScenario {
  const which = chance.is(0.12) ? chance.between(1, pool.configs.length - 1) : 0;
  const configs = pool.configs.map((config, index) =>
    which === 0 || index !== which ? config : { ...config, ...what },
  );
  return { ...pool, configs };
}

/** In every sixth pool one config leaves its nodes not Ready. Its operating system is no other config's. */
function withNeverReady(pool: PoolScenario, chance: Chance): PoolScenario {
  return withBadBoot(pool, chance, { neverReady: true });
}

/** And in every sixth one boots, is Ready, and has a unit that fails. */
function withFailingUnit(pool: PoolScenario, chance: Chance): PoolScenario {
  return withBadBoot(pool, chance, { unitFails: true });
}

function withBadBoot(
  pool: PoolScenario,
  chance: Chance,
  what: Partial<SimulatedConfig>,
): PoolScenario {
  const which = chance.is(0.17) ? chance.between(1, pool.configs.length - 1) : 0;
  const configs = pool.configs.map((config, index) =>
    which === 0 || index !== which ? config : { ...config, os: `os-of-${config.name}`, ...what },
  );
  return { ...pool, configs };
}

function policyFrom(chance: Chance): RolloutPolicySpec {
  return {
    canary: { nodes: chance.pick([0, 0, 1, 1, 2, 3]) },
    failureThreshold: chance.pick([1, 2, 3, '30%', '100%', '100%', '100%']),
    drain: {
      timeoutSeconds: chance.pick([20, 60, 300]),
      onTimeout: chance.pick(['RetryLater', 'RetryLater', 'Fail'] as const),
    },
    reboot: { timeoutSeconds: chance.pick([120, 300, 600]) },
    verify: {
      readySeconds: chance.pick([0, 0, 5, 20]),
      reconnectSeconds: chance.pick([30, 90, 300]),
    },
    ...(chance.is(0.6) ? {} : { prepareAhead: chance.pick([0, 1, 3, 10]) }),
  };
}

/** The first one is what every node starts with, and it is good. */
function configFrom(chance: Chance, pool: string, index: number): SimulatedConfig {
  const isFirst = index === 0;
  return {
    name: `rendered-${pool}-${index + 1}`,
    os: isFirst || chance.is(0.4) ? 'os-1' : `os-${index + 1}`,
    drain: chance.is(0.4),
    restartsService: chance.is(0.5),
    unreconcilable: !isFirst && chance.is(0.05),
    doesNotBoot: !isFirst && chance.is(0.08),
    cutsNetwork: !isFirst && chance.is(0.08),
    neverReady: false,
    unitFails: false,
  };
}
