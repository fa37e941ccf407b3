/** Gauges of waiting pools, computed at scrape time. */

import { Counter, Gauge, type Registry } from 'prom-client';
import { PoolCondition } from '../core/names';
import type { Node } from '../core/node/types';
import type { Membership } from '../core/pool/membership';
import type { MachineConfigPool } from '../core/pool/types';
import { controlPlaneOf, slotsOfPool, takesRoom } from '../core/rollout';
import { standingOf, type Standing } from '../core/rollout/standing';

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
}

interface PoolGauges {
  observe(
    pools: readonly MachineConfigPool[],
    nodes: readonly Node[],
    membership: Membership,
  ): void;
}

/** @param now - milliseconds since the epoch */
export function createPoolGauges(registry: Registry, now: () => number = Date.now): PoolGauges {
  let look: () => readonly PoolCounts[] = () => [];
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    fill: (gauge: Gauge, counts: PoolCounts) => void,
  ): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        for (const counts of look()) fill(this, counts);
      },
    });
  gauge(
    'slipway_pool_nodes',
    'Nodes of the pool by where they stand',
    ['pool', 'place'],
    (metric, { pool, places }) => {
      for (const [place, count] of Object.entries(places)) metric.set({ pool, place }, count);
    },
  );
  gauge(
    'slipway_pool_slots',
    'Nodes that may be unavailable at once',
    ['pool'],
    (metric, { pool, slots }) => {
      if (slots !== undefined) metric.set({ pool }, slots);
    },
  );
  gauge(
    'slipway_pool_slots_in_use',
    'Nodes that take a slot, whatever the reason',
    ['pool'],
    (metric, { pool, slotsInUse }) => {
      metric.set({ pool }, slotsInUse);
    },
  );
  gauge(
    'slipway_pool_oldest_pending_age_seconds',
    'How long the oldest node that is neither failed nor held has been behind; 0 when none is',
    ['pool'],
    (metric, { pool, pendingSince }) => {
      const ageMs = pendingSince === undefined ? 0 : now() - pendingSince;
      metric.set({ pool }, Math.max(0, ageMs / 1000));
    },
  );
  const idle = countIdleSlots(registry, () => look(), now);
  return {
    observe: (pools, nodes, membership) => {
      idle.settle();
      idle.forgetOthers(pools.map(({ metadata }) => metadata.name));
      let counted: readonly PoolCounts[] | undefined;
      look = () => {
        const controlPlane = controlPlaneOf(nodes).length;
        return (counted ??= pools.map((pool) =>
          countsOf(pool, membership.members.get(pool.metadata.name) ?? [], controlPlane),
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
): PoolCounts {
  const target = pool.spec.configuration?.name ?? '';
  const known = target === '' ? {} : { target };
  const places = { updated: 0, pending: 0, failed: 0, held: 0 };
  const since: number[] = [];
  let startable = 0;
  for (const node of nodes) {
    const standing = standingOf(node, known);
    if (standing.is === 'open' && !takesRoom(node)) startable += 1;
    const place = placeOf(standing);
    places[place] += 1;
    const behindSince = place === 'pending' ? pendingSince(pool, node) : undefined;
    if (behindSince !== undefined) since.push(behindSince);
  }
  const slots = slotsOf(pool, nodes, controlPlane);
  const slotsInUse = nodes.filter(takesRoom).length;
  const free = pool.spec.paused === true ? 0 : Math.max(0, (slots ?? 0) - slotsInUse);
  return {
    pool: pool.metadata.name,
    places,
    slotsInUse,
    idleSlots: Math.min(free, startable),
    ...(slots === undefined ? {} : { slots }),
    ...(since.length === 0
      ? {}
      : { pendingSince: since.reduce((oldest, one) => Math.min(oldest, one)) }),
  };
}

/** A node that an update has, or that cannot be taken now, is pending, too. */
function placeOf({ is }: Standing): Place {
  return is === 'updated' || is === 'failed' || is === 'held' ? is : 'pending';
}

/**
 * The later of the pool's last change away from Updated and the Node's creation. The status keeps
 * the former over a change of the leader.
 */
function pendingSince(pool: MachineConfigPool, node: Node): number | undefined {
  const updated = pool.status?.conditions?.find(({ type }) => type === PoolCondition.UPDATED);
  if (updated?.status !== 'False' || updated.lastTransitionTime === undefined) return undefined;
  const behind = Date.parse(updated.lastTransitionTime);
  const { creationTimestamp } = node.metadata;
  return creationTimestamp === undefined ? behind : Math.max(behind, Date.parse(creationTimestamp));
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
