/** Gauges of waiting pools, computed at scrape time. */

import { Counter, Gauge, type Registry } from 'prom-client';
import { PoolCondition } from '../core/names';
import type { Node } from '../core/node/types';
import type { Membership } from '../core/pool/membership';
import type { MachineConfigPool } from '../core/pool/types';
import { controlPlaneOf, slotsOfPool, takesRoom } from '../core/rollout';
import { standingOf, type Standing } from '../core/rollout/standing';
import { fellBehindAt, lastProgress, type KnownOfPools } from './pool-progress';

type Place = 'updated' | 'pending' | 'failed' | 'held';

interface PoolCounts {
  readonly pool: string;
  readonly places: Readonly<Record<Place, number>>;
  /** Absent = maxUnavailable is impossible. */
  readonly slots?: number;
  readonly slotsInUse: number;
  /** Free slots that a node could use now. */
  readonly idleSlots: number;
  /** When the oldest pending node fell behind, ms. */
  readonly pendingSince?: number;
  readonly isPaused: boolean;
  /** Of those that are shown, the ones that are True. */
  readonly conditions: ReadonlySet<string>;
  /** When its rollout last went on, ms; absent = none should go on. */
  readonly wentOnAt?: number;
}

const NOTHING_KNOWN: KnownOfPools = {
  machineConfigNode: () => undefined,
  policy: () => undefined,
};

const SHOWN_CONDITIONS = [
  PoolCondition.UPDATED,
  PoolCondition.UPDATING,
  PoolCondition.DEGRADED,
  PoolCondition.NODE_DEGRADED,
  PoolCondition.RENDER_DEGRADED,
  PoolCondition.CONTROL_PLANE_LIMITED,
  PoolCondition.CERTIFICATES_EXPIRING,
] as const;

interface PoolGauges {
  observe(
    pools: readonly MachineConfigPool[],
    nodes: readonly Node[],
    membership: Membership,
    known?: KnownOfPools,
  ): void;
}

interface PoolGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** @param now - milliseconds since the epoch */
  readonly fill: (gauge: Gauge, counts: PoolCounts, now: number) => void;
}

const GAUGES: readonly PoolGauge[] = [
  {
    name: 'slipway_pool_nodes',
    help: 'Nodes of the pool by where they stand',
    labels: ['pool', 'place'],
    fill: (gauge, { pool, places }) => {
      for (const [place, count] of Object.entries(places)) gauge.set({ pool, place }, count);
    },
  },
  {
    name: 'slipway_pool_slots',
    help: 'Nodes that may be unavailable at once',
    labels: ['pool'],
    fill: (gauge, { pool, slots }) => {
      if (slots !== undefined) gauge.set({ pool }, slots);
    },
  },
  {
    name: 'slipway_pool_slots_in_use',
    help: 'Nodes that take a slot, whatever the reason',
    labels: ['pool'],
    fill: (gauge, { pool, slotsInUse }) => {
      gauge.set({ pool }, slotsInUse);
    },
  },
  {
    name: 'slipway_pool_oldest_pending_age_seconds',
    help: 'How long the oldest node that is neither failed nor held has been behind; 0 when none is',
    labels: ['pool'],
    fill: (gauge, { pool, pendingSince }, now) => {
      gauge.set({ pool }, secondsSince(pendingSince, now));
    },
  },
  {
    name: 'slipway_pool_progress_age_seconds',
    help: 'How long the rollout has done nothing that its nodes show; 0 when none should go on',
    labels: ['pool'],
    fill: (gauge, { pool, wentOnAt }, now) => {
      gauge.set({ pool }, secondsSince(wentOnAt, now));
    },
  },
  {
    name: 'slipway_pool_condition',
    help: '1 while the condition of the pool is True',
    labels: ['pool', 'condition'],
    fill: (gauge, { pool, conditions }) => {
      for (const condition of SHOWN_CONDITIONS) {
        gauge.set({ pool, condition }, conditions.has(condition) ? 1 : 0);
      }
    },
  },
  {
    name: 'slipway_pool_paused',
    help: '1 while the pool is paused',
    labels: ['pool'],
    fill: (gauge, { pool, isPaused }) => {
      gauge.set({ pool }, isPaused ? 1 : 0);
    },
  },
];

function secondsSince(at: number | undefined, now: number): number {
  return at === undefined ? 0 : Math.max(0, now - at) / 1000;
}

/** @param now - milliseconds since the epoch */
export function createPoolGauges(registry: Registry, now: () => number = Date.now): PoolGauges {
  let look: () => readonly PoolCounts[] = () => [];
  for (const { name, help, labels, fill } of GAUGES) {
    new Gauge({
      ...{ name, help, labelNames: [...labels], registers: [registry] },
      collect() {
        this.reset();
        for (const counts of look()) fill(this, counts, now());
      },
    });
  }
  const idle = countIdleSlots(registry, () => look(), now);
  return {
    observe: (pools, nodes, membership, known = NOTHING_KNOWN) => {
      idle.settle();
      idle.forgetOthers(pools.map(({ metadata }) => metadata.name));
      let counted: readonly PoolCounts[] | undefined;
      look = () => {
        const controlPlane = controlPlaneOf(nodes).length;
        return (counted ??= pools.map((pool) =>
          countsOf(pool, membership.members.get(pool.metadata.name) ?? [], controlPlane, known),
        ));
      };
    },
  };
}

interface IdleSlots {
  settle(): void;
  /** Drops pools that are gone or of another replica. */
  forgetOthers(pools: readonly string[]): void;
}

function countIdleSlots(
  registry: Registry,
  look: () => readonly PoolCounts[],
  now: () => number,
): IdleSlots {
  const shown = new Set<string>();
  let settledAt = now();
  const counter = new Counter({
    name: 'slipway_pool_slot_idle_seconds_total',
    help: 'Seconds that slots were free, one by one, although a node could have been updated',
    labelNames: ['pool'],
    registers: [registry],
    collect: () => {
      settle();
    },
  });
  const settle = (): void => {
    const seconds = Math.max(0, (now() - settledAt) / 1000);
    settledAt = now();
    for (const { pool, idleSlots } of look()) {
      shown.add(pool);
      counter.inc({ pool }, idleSlots * seconds);
    }
  };
  return {
    settle,
    forgetOthers: (pools) => {
      for (const pool of shown) {
        if (pools.includes(pool)) continue;
        shown.delete(pool);
        counter.remove({ pool });
      }
    },
  };
}

function countsOf(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  controlPlane: number,
  known: KnownOfPools,
): PoolCounts {
  const target = pool.spec.configuration?.name ?? '';
  const places = { updated: 0, pending: 0, failed: 0, held: 0 };
  const since: number[] = [];
  let startable = 0;
  for (const node of nodes) {
    const standing = standingOf(node, target === '' ? {} : { target });
    if (standing.is === 'open' && !takesRoom(node)) startable += 1;
    const place = placeOf(standing);
    places[place] += 1;
    const behindSince = place === 'pending' ? pendingSince(pool, node) : undefined;
    if (behindSince !== undefined) since.push(behindSince);
  }
  const slots = slotsOf(pool, nodes, controlPlane);
  const slotsInUse = nodes.filter(takesRoom).length;
  const isPaused = pool.spec.paused === true;
  const wentOnAt = places.pending === 0 ? undefined : lastProgress(pool, nodes, known);
  const free = isPaused ? 0 : Math.max(0, (slots ?? 0) - slotsInUse);
  return {
    pool: pool.metadata.name,
    places,
    slotsInUse,
    idleSlots: Math.min(free, startable),
    isPaused,
    conditions: trueConditions(pool),
    ...(slots === undefined ? {} : { slots }),
    ...(since.length === 0
      ? {}
      : { pendingSince: since.reduce((oldest, one) => Math.min(oldest, one)) }),
    ...(wentOnAt === undefined ? {} : { wentOnAt }),
  };
}

function trueConditions({ status }: MachineConfigPool): ReadonlySet<string> {
  const conditions = status?.conditions ?? [];
  return new Set(conditions.filter((one) => one.status === 'True').map(({ type }) => type));
}

/** A node that an update has, or that cannot be taken now, is pending, too. */
function placeOf({ is }: Standing): Place {
  return is === 'updated' || is === 'failed' || is === 'held' ? is : 'pending';
}

/** The later of when the pool fell behind and the Node's creation. */
function pendingSince(pool: MachineConfigPool, node: Node): number | undefined {
  const behind = fellBehindAt(pool);
  const { creationTimestamp } = node.metadata;
  if (behind === undefined || creationTimestamp === undefined) return behind;
  return Math.max(behind, Date.parse(creationTimestamp));
}

/** The status of the pool reports an impossible limit. */
function slotsOf(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  controlPlane: number,
): number | undefined {
  const { maxUnavailable, invalid } = slotsOfPool(pool, nodes, controlPlane);
  return invalid === undefined ? maxUnavailable : undefined;
}
