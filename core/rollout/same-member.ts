/** Whether a Node is still the one that an update is of, and a member of its pool. */

import type { Node } from '../node/types';
import { assignNodes } from '../pool/membership';
import type { MachineConfigPool } from '../pool/types';

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
