/**
 * How many nodes of the control plane may be out of service at once: never more than its etcd survives, whatever
 * the pools say. It stands on top of MCO's rules, which know nothing of it.
 *
 * With n control-plane nodes, wherever their pools are, max(1, floor((n - 1) / 2)) may be out: the others are a
 * majority. A cluster of one or two has no node to spare, and could never be updated without the 1. One that is down
 * by itself counts as out, as in a pool.
 */

import { LABEL } from '../names';
import type { Node } from '../node/types';
import { slotsOrNone } from '../pool/capacity';
import type { MachineConfigPool } from '../pool/types';
import { isInService } from '../node/availability';

/** The control plane as a pool with nodes of it sees it; plain JSON. */
export interface ControlPlaneRoom {
  /** Nodes that it has, in all pools and in none. */
  readonly total: number;
  /** Those of them that are in this pool. */
  readonly members: readonly string[];
  /** Those of all that are out of service. */
  readonly out: readonly string[];
  /** `maxUnavailable` of this pool would let more of them go at once. */
  readonly isLimiting: boolean;
}

/** Labelled as one, with any value: kubeadm sets an empty one, k3s `true`. */
export function isControlPlane({ metadata: { labels = {} } }: Node): boolean {
  return [LABEL.CONTROL_PLANE, LABEL.MASTER].some((label) => Object.hasOwn(labels, label));
}

/** Of all nodes of a cluster, those of its control plane. */
export function controlPlaneOf(nodes: readonly Node[]): readonly Node[] {
  return nodes.filter(isControlPlane);
}

/** How many of so many control-plane nodes may be out of service at once. */
export function quorumLimit(total: number): number {
  return Math.max(1, Math.floor((total - 1) / 2));
}

/** The same in words, as a blocker says it. */
export function quorumSentence(total: number): string {
  return `at most ${quorumLimit(total)} of ${total} control-plane ${total === 1 ? 'node' : 'nodes'} at once`;
}

/** The same of a pool whose `maxUnavailable` says more, as its condition and its plan say it. */
export function loweredSentence(total: number): string {
  return `${quorumSentence(total)}, so that etcd keeps its quorum, whatever maxUnavailable says`;
}

/**
 * How many nodes of a pool may be out of service at once. Of one that is all control plane that is what the quorum
 * allows, where `maxUnavailable` says more; in one with other nodes, too, `decideGrants` counts those of the control plane.
 *
 * @param members - nodes of the pool
 * @param total - control-plane nodes of the cluster
 * @returns 0 and why, where nobody can mean what the pool says
 */
export function slotsOfPool(
  pool: MachineConfigPool,
  members: readonly Node[],
  total: number,
): ReturnType<typeof slotsOrNone> {
  const { maxUnavailable, ...why } = slotsOrNone(pool, members.length);
  const isAll = members.length > 0 && members.every(isControlPlane);
  return {
    maxUnavailable: isAll ? Math.min(maxUnavailable, quorumLimit(total)) : maxUnavailable,
    ...why,
  };
}

/** Whether the `maxUnavailable` of a pool would let more control-plane nodes go at once than may. */
export function isLimitedByQuorum(
  pool: MachineConfigPool,
  members: readonly Node[],
  total: number,
): boolean {
  const own = controlPlaneOf(members).length;
  return Math.min(own, slotsOrNone(pool, members.length).maxUnavailable) > quorumLimit(total);
}

/**
 * @param nodes - `all`: the control-plane nodes of the cluster, those of the pool included; `unavailable`: those of
 *   the pool that are out of service
 * @returns undefined when the pool has none of them
 */
export function controlPlaneRoom(
  pool: MachineConfigPool,
  nodes: Readonly<Record<'all' | 'members' | 'unavailable', readonly Node[]>>,
): ControlPlaneRoom | undefined {
  const { all, members, unavailable } = nodes;
  const own = new Set(controlPlaneOf(members).map(nameOf));
  if (own.size === 0) return undefined;
  const others = all.filter((node) => !own.has(nameOf(node)));
  const out = [...controlPlaneOf(unavailable), ...others.filter((node) => !isInService(node))];
  const total = own.size + others.length;
  const isLimiting = isLimitedByQuorum(pool, members, total);
  return { total, members: [...own], out: out.map(nameOf), isLimiting };
}

function nameOf({ metadata }: Node): string {
  return metadata.name;
}
