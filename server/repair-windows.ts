/**
 * Which host may disturb services for a repair of drift; the rule is in
 * `core/drift/repair-window.ts`.
 */

import {
  type DriftedMember,
  driftCondition,
  mayRepairNow,
  placesIn,
  type Places,
  windowOf,
} from '../core/drift';
import type { MachineConfigNode, Node } from '../core/node/types';
import { nodesOfPool } from '../core/pool/membership';
import type { MachineConfigPool } from '../core/pool/types';
import { isInService, takesRoom } from '../core/node/availability';
import { controlPlaneOf, quorumLimit, slotsOfPool } from '../core/rollout/control-plane';
import type { ClusterView } from './ports';

/** Hundreds of hosts may ask at once: a pool is evaluated once in so many milliseconds. */
const LOOK_MS = 1_000;

interface Standing {
  readonly at: number;
  readonly names: ReadonlySet<string>;
  readonly out: ReadonlySet<string>;
  readonly maxUnavailable: number;
}

export class RepairWindows {
  readonly #standing = new Map<string, Standing>();
  /** Of the last window with a request: drift within a window changes nothing. */
  readonly #places = new Map<string, { readonly window: number; readonly places: Places }>();

  /** @param now - milliseconds since 1970, the same on all servers */
  constructor(
    private readonly cluster: Pick<
      ClusterView,
      'nodes' | 'pools' | 'machineConfigNode' | 'granted'
    >,
    private readonly now: () => number,
  ) {}

  /** A pool with an impossible policy has no turns. */
  mayDisturb(node: Node, pool: MachineConfigPool): boolean {
    const now = this.now();
    const { name } = node.metadata;
    const { names, out, maxUnavailable } = this.#standingOf(pool, now);
    // The node joined after the pool was last evaluated.
    if (!names.has(name)) return false;
    const othersOut = out.size - (out.has(name) ? 1 : 0);
    const memberCount = names.size;
    const standing = { isInService: isInService(node), othersOut, memberCount, maxUnavailable };
    return mayRepairNow(name, standing, now, () => this.#placesOf(pool, names, now));
  }

  #standingOf(pool: MachineConfigPool, now: number): Standing {
    const { name } = pool.metadata;
    const known = this.#standing.get(name);
    if (known !== undefined && now >= known.at && now < known.at + LOOK_MS) return known;
    const members = nodesOfPool(pool, this.cluster.nodes(), this.cluster.pools());
    const controlPlane = controlPlaneOf(this.cluster.nodes());
    const { maxUnavailable } = slotsOfPool(pool, members, controlPlane.length);
    // With control-plane nodes in the pool, the quorum rule holds, which counts the whole control
    // plane.
    const isOfIt = controlPlaneOf(members).length > 0;
    const counted = isOfIt ? [...members, ...controlPlane] : members;
    const standing = {
      at: now,
      names: new Set(members.map(nameOf)),
      // An update with a grant may take its node out at any moment.
      out: new Set([...counted.filter(takesRoom).map(nameOf), ...this.cluster.granted(name)]),
      maxUnavailable: isOfIt
        ? Math.min(maxUnavailable, quorumLimit(controlPlane.length))
        : maxUnavailable,
    };
    this.#standing.set(name, standing);
    return standing;
  }

  #placesOf(
    { metadata: { name } }: MachineConfigPool,
    names: ReadonlySet<string>,
    now: number,
  ): Places {
    const window = windowOf(now);
    const known = this.#places.get(name);
    if (known?.window === window) return known.places;
    const members = [...names].map((node) => ({
      name: node,
      ...driftOf(this.cluster.machineConfigNode(node)),
    }));
    const places = placesIn(members, now);
    this.#places.set(name, { window, places });
    return places;
  }
}

function nameOf({ metadata }: Node): string {
  return metadata.name;
}

function driftOf(shown: MachineConfigNode | undefined): Pick<DriftedMember, 'drift'> {
  const condition = driftCondition(shown);
  if (condition === undefined) return {};
  const since = Date.parse(condition.lastTransitionTime ?? '');
  return { drift: { isDrifted: condition.status === 'True', since } };
}
