/** What people, machines and the weather do to a rollout, at any moment. */

import { poolRolloutId, updateNodeId } from '../../../core/names';
import { Chance } from '../clock';
import type { Invariants } from '../observer';
import type { Grant } from '../../../core/rollout/pool-rollout';
import type { Scenario } from '../scenario';
import { START } from '../trace';
import type { Host } from './host';
import { joinMachine } from './joining';
import type { World } from './world';

/** So often it is looked for an update that waits in vain. */
const LOOK_MS = 45_000;

/** So long a pod whose node was chosen before the cordon may wait for its volume: before the reboot, or after it. */
const BOUND_BY_MS = [60_000, 60_000, 300_000];

/** Before the first change, most of the time, or after it. */
const EDITED_BY_MS = [2_000, 30_000, 300_000];
/** In the middle of a drain, or of a reboot. */
const LOST_BY_MS = [1_000, 20_000, 90_000];

/** The first grants of a rollout are given by then. */
const SOON_MS = 180_000;

type Incident = (world: World, chance: Chance) => void | Promise<void>;

/** One thing that may happen, with how often compared to the others. */
const INCIDENTS: readonly (readonly [name: string, weight: number, incident: Incident])[] = [
  [
    'pause',
    2,
    (world, chance) => world.ask(world.anyPool(chance), 'pause', { reason: 'change freeze' }),
  ],
  ['resume', 3, (world, chance) => world.ask(world.anyPool(chance), 'resume', {})],
  ['retryNode', 3, (world, chance) => world.askOf(anyNode(world, chance), 'retryNode')],
  ['skipNode', 2, (world, chance) => world.askOf(anyNode(world, chance), 'skipNode')],
  ['cancelNode', 3, (world, chance) => world.askOf(anyNode(world, chance), 'cancelNode')],
  [
    'retarget',
    4,
    (world, chance) => {
      const pool = world.anyPool(chance);
      world.render(pool, chance.pick(world.configsOf(pool)).name);
    },
  ],
  ['cancel rollout', 1, (world, chance) => void world.temporal.cancel(anyRollout(world, chance))],
  ['terminate rollout', 2, (world, chance) => world.terminate(anyRollout(world, chance))],
  ['terminate update', 2, (world, chance) => world.terminate(updateNodeId(anyNode(world, chance)))],
  [
    'cancel update',
    2,
    (world, chance) => void world.temporal.cancel(updateNodeId(anyNode(world, chance))),
  ],
  ['start rollout', 1, (world, chance) => world.startByHand(world.anyPool(chance))],
  ['tell the rollout', 2, (world, chance) => world.controllers.hear(world.anyPool(chance))],
  [
    'maxUnavailable',
    2,
    (world, chance) => world.limit(world.anyPool(chance), chance.pick([1, 2, 3, '20%', '50%'])),
  ],
  ['policy', 2, (world, chance) => world.changePolicy(world.anyPool(chance), chance)],
  ['cordon', 2, (world, chance) => world.cordon(anyNode(world, chance))],
  ['uncordon', 2, (world, chance) => world.uncordon(anyNode(world, chance))],
  ['delete node', 1, (world, chance) => world.deleteNode(anyNode(world, chance))],
  ['add node', 1, (world, chance) => world.addNode(world.anyPool(chance))],
  ['host worker dies', 3, (world, chance) => world.anyHost(chance)?.killWorker()],
  ['power cut', 2, (world, chance) => world.anyHost(chance)?.reboot('accident')],
  ['machine breaks', 1, (world, chance) => world.anyHost(chance)?.breakDown()],
  [
    'network cut',
    2,
    (world, chance) => {
      const host = world.anyHost(chance);
      // From Temporal alone, or from the API server, too.
      host?.setCut(true, chance.is(0.5));
      world.clock.after(chance.between(1_000, 400_000), () => host?.setCut(false));
    },
  ],
  [
    'not ready',
    2,
    (world, chance) => {
      const host = world.anyHost(chance);
      if (host?.isUp !== true) return;
      host.report(false);
      world.clock.after(chance.between(1_000, 200_000), () => {
        if (host.isUp) host.report(true);
      });
    },
  ],
  [
    'api server away',
    1,
    (world, chance) => {
      world.cluster.isAway = true;
      world.clock.after(chance.between(500, 60_000), () => {
        world.cluster.isAway = false;
      });
    },
  ],
  [
    'all workers die',
    2,
    async (world) => {
      for (const execution of world.temporal.open()) await execution.loseWorker();
      for (const worker of world.workers) worker.die();
    },
  ],
  [
    'a worker dies',
    3,
    async (world, chance) => {
      const open = world.temporal.open();
      if (open.length > 0) await chance.pick(open).loseWorker();
    },
  ],
];

/** Spreads the incidents of a scenario over its unrest; some come in a burst, at the very same point. */
export function planIncidents(world: World, scenario: Scenario, chance: Chance): void {
  const weights = INCIDENTS.reduce((sum, [, weight]) => sum + weight, 0);
  let at = 0;
  for (let i = 0; i < scenario.incidents; i += 1) {
    if (!chance.is(0.25)) at = chance.between(0, scenario.unrestMs);
    let left = chance.between(1, weights);
    const [name, , incident] = INCIDENTS.find(
      ([, weight]) => (left -= weight) <= 0,
    ) as (typeof INCIDENTS)[number];
    const own = chance.fork();
    world.clock.after(at + chance.between(0, 20), async () => {
      world.note('incident', name);
      await incident(world, own);
    });
  }
}

/** Nodes that are moved between pools, and machines that join: as many as the scenario says. */
export function planMoves(
  world: World,
  { moves, joins, unrestMs }: Scenario,
  chance: Chance,
): void {
  const plan = (times: number, name: string, incident: Incident): void => {
    for (let i = 0; i < times; i += 1) {
      const own = chance.fork();
      world.clock.after(chance.between(0, unrestMs / 2), () => {
        world.note('incident', name);
        return incident(world, own);
      });
    }
  };
  plan(moves, 'move node', (_world, own) => {
    if (own.is(0.5)) world.move(anyNode(world, own), world.anyPool(own));
    // Or just when its rollout has decided that it may go out of service.
    else world.atNextGrant = (node) => moveSoon(world, own, node);
  });
  plan(joins, 'machine joins', (_world, own) => joinMachine(world, world.anyPool(own), own));
}

/** In between, somebody ends an update in Temporal whose host is verified and whose node does not become Ready. */
export function planLosses(world: World, { pools, unrestMs }: Scenario): void {
  if (!pools.some(({ configs }) => configs.some(({ neverReady }) => neverReady))) return;
  // Each machine's once: the next update has to find out by itself.
  const lost = new Set<string>();
  for (let at = 0; at < unrestMs; at += LOOK_MS) {
    world.clock.after(at, async () => {
      const isStuck = ({ name, journal }: Host): boolean =>
        journal?.target.neverReady === true &&
        journal.verified &&
        !lost.has(name) &&
        world.temporal.isRunning(updateNodeId(name));
      const stuck = [...world.hosts.values()].find(isStuck);
      if (stuck === undefined) return;
      lost.add(stuck.name);
      world.note('incident', 'update whose node is not Ready is lost');
      await world.terminate(updateNodeId(stuck.name));
    });
  }
}

/** Somebody finds a machine Ready again after its reboot and uncordons it, before its update has seen that a unit fails. */
export function planUncordons(world: World, { seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 86_028_121 + 7);
  world.whenReady = ({ name, journal, boot }) => {
    const { armed, target } = journal ?? {};
    const isAfterReboot = armed !== undefined && armed !== boot && target?.unitFails === true;
    if (!isAfterReboot || world.clock.now - START > unrestMs || chance.is(0.3)) return;
    world.clock.after(chance.between(0, 5_000), () => {
      world.note('incident', 'uncordon after the reboot');
      world.uncordon(name);
    });
  };
}

/** The scheduler has chosen a node before its cordon and binds the pod after it, sometimes one that no budget lets go. */
export function planLatePods(world: World, { latePods, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 15_485_867 + 9);
  let left = latePods;
  world.whenCordoned.push((node) => {
    if (left === 0 || world.clock.now - START > unrestMs || chance.is(0.3)) return;
    left -= 1;
    const name = `late-${left}`;
    const isStuck = chance.is(0.15);
    world.clock.after(chance.between(0, chance.pick(BOUND_BY_MS)), () => {
      world.note('incident', `${name} is bound to ${node}, which was chosen before its cordon`);
      world.bind(node, { name, stuck: isStuck && !world.faults.isCalm });
    });
  });
}

/** Somebody edits a managed file of a machine that is being drained or written, and puts it back later, or not. */
export function planEdits(world: World, { edits, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 15_485_867 + 10);
  let left = edits;
  world.whenCordoned.push((node) => {
    if (left === 0 || world.clock.now - START > unrestMs || chance.is(0.3)) return;
    left -= 1;
    const forMs = chance.between(10_000, 900_000);
    world.clock.after(chance.between(0, chance.pick(EDITED_BY_MS)), () => {
      const host = world.hosts.get(node);
      if (host === undefined || world.faults.isCalm) return;
      world.note('incident', `a managed file of ${node} is edited`);
      host.isEdited = true;
      world.clock.after(forMs, () => {
        host.isEdited = false;
      });
    });
  });
}

/** Temporal loses everything while a node is on its way: whoever comes next knows only what the cluster and the hosts say. */
export function planLostDatabases(world: World, { lostDatabases, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 15_485_867 + 11);
  let left = lostDatabases;
  world.whenCordoned.push(() => {
    if (left === 0 || world.clock.now - START > unrestMs || chance.is(0.3)) return;
    left -= 1;
    world.clock.after(chance.between(0, chance.pick(LOST_BY_MS)), async () => {
      if (world.faults.isCalm) return;
      world.note('incident', 'the database of Temporal is lost');
      await world.loseTemporal();
    });
  });
}

/** Somebody ends a rollout in Temporal a moment after it has given a grant. */
export function planLostRollouts(world: World, { lostRollouts, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 32_452_843 + 3);
  for (let i = 0; i < lostRollouts; i += 1) {
    world.clock.after(chance.between(0, Math.min(unrestMs / 2, SOON_MS)), () => {
      world.atNextGrant = (node, pool) => {
        world.clock.after(chance.between(0, 3_000), async () => {
          world.note('incident', `rollout is lost that has just given ${node} a grant`);
          await world.terminate(poolRolloutId(pool));
        });
      };
    });
  }
}

/** A person deletes the PoolRollout of a pool, or edits its grants away, or adds one that nobody has. */
export function planLostGrants(world: World, { lostGrants, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 32_452_843 + 4);
  for (let i = 0; i < lostGrants; i += 1) {
    world.clock.after(chance.between(0, unrestMs), () => {
      const pool = world.anyPool(chance);
      const how = chance.pick(['deleted', 'emptied', 'one is gone', 'one is made up']);
      world.note('incident', `poolrollout ${pool}: ${how}`);
      world.editRollout(pool, (status) => {
        if (how === 'deleted') return undefined;
        if (how === 'emptied') return { ...status, grants: [] };
        if (how === 'one is gone') return { ...status, grants: status.grants.slice(1) };
        return { ...status, grants: [...status.grants, madeUp(world, chance)] };
      });
    });
  }
}

function madeUp(world: World, chance: Chance): Grant {
  const node = anyNode(world, chance);
  const now = new Date(world.clock.now).toISOString();
  const uid = world.cluster.nodes.get(node)?.metadata.uid ?? node;
  return { node, uid, run: 'made-up', startedAt: now, config: 'rendered-x', grantedAt: now };
}

/** A Node is deleted, and registered again by its kubelet. */
export function planRecreations(world: World, { recreated, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 32_452_843 + 5);
  for (let i = 0; i < recreated; i += 1) {
    world.clock.after(chance.between(0, unrestMs), () => {
      const node = anyNode(world, chance);
      world.note('incident', `node ${node} is deleted, and its kubelet registers it again`);
      world.recreateNode(node, chance.between(500, 30_000));
    });
  }
}

/** No process of Slipway reaches Temporal. */
export function planTemporalAway(world: World, { temporalAway, seed, unrestMs }: Scenario): void {
  const chance = new Chance(seed * 32_452_843 + 6);
  for (let i = 0; i < temporalAway; i += 1) {
    world.clock.after(chance.between(0, unrestMs), () => {
      if (world.faults.isCalm) return;
      world.note('incident', 'Temporal is away');
      world.client.isAway = true;
      world.clock.after(chance.between(500, 120_000), () => {
        world.client.isAway = false;
      });
    });
  }
}

function moveSoon(world: World, chance: Chance, node: string): void {
  world.clock.after(chance.between(0, 40), () => {
    world.note('incident', 'move node');
    world.move(node, world.anyPool(chance));
  });
}

function anyRollout(world: World, chance: Chance): string {
  return poolRolloutId(world.anyPool(chance));
}

function anyNode(world: World, chance: Chance): string {
  const names = [...world.cluster.nodes.keys()];
  return names.length === 0 ? 'nobody' : chance.pick(names);
}

/** What an operator does once the weather is fine: looks, and puts right what waits for a person. */
export class Operator {
  constructor(
    private readonly world: World,
    private readonly invariants: Invariants,
  ) {}

  /** Everything that a person or a machine has broken is mended. */
  async settle(goodConfigs: ReadonlyMap<string, string>): Promise<void> {
    const { world, invariants } = this;
    world.note('operator', 'the weather clears');
    world.faults.isCalm = true;
    world.cluster.isAway = false;
    world.client.isAway = false;
    for (const host of world.hosts.values()) {
      host.repair();
      if (host.isUp) host.report(true);
    }
    for (const pods of world.pods.values()) for (const pod of pods) pod.stuck = false;
    for (const name of [...invariants.cordonedByPerson]) world.uncordon(name);
    for (const [pool, config] of goodConfigs) world.render(pool, config);
    await Promise.resolve();
  }

  /** One visit to each pool: resumes, starts again, retries what failed or is held. */
  visit(): void {
    for (const pool of this.world.pools) this.visitPool(pool);
  }

  private visitPool(name: string): void {
    const { world } = this;
    const { spec, metadata } = world.cluster.pool(name);
    if (spec.paused === true) {
      if (!world.temporal.isRunning(poolRolloutId(name))) world.unpause(name);
      else world.ask(name, 'resume', {});
      return;
    }
    if (metadata.annotations?.['slipway.dev/rollout-cancelled'] !== undefined) {
      world.startByHand(name);
      return;
    }
    const { failed = [], held = [] } = world.rollout(name) ?? {};
    if (failed.length + held.length === 0) return;
    if (!world.temporal.isRunning(poolRolloutId(name))) {
      world.startByHand(name);
      return;
    }
    for (const { node } of [...failed, ...held]) world.ask(name, 'retryNode', { node });
  }
}
