/** Nodes that a rollout still remembers, and that are no members of its pool any more. */

import type { Node } from '../node/types';
import { assignNodes } from '../pool/membership';
import type { MachineConfigPool } from '../pool/types';

/** How a node left its pool. */
export interface Departure {
  /** False = it was moved to another pool, or to none. */
  readonly deleted: boolean;
  readonly reason: string;
}

export interface DepartureQuestion {
  readonly name: string;
  /** Of the Node that is remembered; absent = not known, and the name decides. */
  readonly uid?: string;
  readonly pool: string;
  /** The Node as it is; undefined = there is none of this name. */
  readonly node: Node | undefined;
  readonly pools: readonly MachineConfigPool[];
}

/**
 * Why a node is no member of the pool any more; undefined = it is. A pool that is gone, or whose own
 * selector is wrong, matches nothing: then nobody is said to have left it.
 */
export function departure(question: DepartureQuestion): Departure | undefined {
  const { name, pool, node, pools } = question;
  if (node === undefined) return { deleted: true, reason: `node ${name} was deleted` };
  if (!isSameNode(node, question.uid)) {
    const reason = `node ${name} was deleted, and there is another one of its name now`;
    return { deleted: true, reason };
  }
  const found = movedTo(node, pool, pools);
  if (found === undefined) return undefined;
  return { deleted: false, reason: `node ${name} was moved to ${found}` };
}

/** Whether this is the Node with that UID; one that is not known is taken for it. */
export function isSameNode(node: Node, uid: string | undefined): boolean {
  const { uid: actual } = node.metadata;
  return uid === undefined || actual === undefined || uid === actual;
}

/** In words, where a node belongs that is no member of this pool; undefined = it is a member. */
export function movedTo(
  node: Node,
  pool: string,
  pools: readonly MachineConfigPool[],
): string | undefined {
  const { members, conflicts, invalidPools } = assignNodes([node], pools);
  const isUnknown = !members.has(pool) || invalidPools.some((invalid) => invalid.pool === pool);
  if (isUnknown) return undefined;
  const actual = [...members].find(([, nodes]) => nodes.length > 0)?.[0];
  if (actual === pool) return undefined;
  const [conflict] = conflicts;
  if (conflict !== undefined) return `no pool: ${conflict.reason}`;
  return actual === undefined ? 'no pool' : `pool ${actual}`;
}
