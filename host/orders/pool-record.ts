/** In which pool a host obeys, and up to where in the history of each pool. */

import { fail } from '../../core/errors';
import type { HostOrder } from '../../workflows/contracts/host';

export interface PoolRecord {
  /** UID of the pool whose order was accepted last. */
  readonly pool?: string;
  /** The highest generations that were accepted, the latest pool last. */
  readonly generations?: readonly { readonly uid: string; readonly generation: number }[];
  /** Name of the config that the host was on when it accepted another one. */
  readonly ranBefore?: string;
}

/** A host is seldom in more than two. */
const POOLS_KEPT = 16;

/**
 * The record after an order to prepare: it names the target of a pool that is not older than any accepted one, or the
 * way back to what the host ran.
 *
 * @param current - name of the config that the host is on; undefined = it has no record of one
 * @throws `OrderRefused`; with `isInPool` in its details where only the word is missing that the node has moved
 */
export function poolAfter(
  record: PoolRecord,
  order: HostOrder,
  current: string | undefined,
): PoolRecord {
  const { orderId, node, pool, movedFrom, config } = order;
  if (record.pool !== undefined && record.pool !== pool.uid && record.pool !== movedFrom) {
    const what = `order ${orderId} is of pool ${pool.name} (UID ${pool.uid})`;
    throw fail(
      'OrderRefused',
      `${what}, and ${node} is in that with UID ${record.pool}: it has not heard that it moves`,
      { isInPool: record.pool },
    );
  }
  const { generations = [] } = record;
  const accepted = generations.find(({ uid }) => uid === pool.uid)?.generation ?? 0;
  if (order.takesBack === true) refuseOtherWayBack(order, record, current);
  else if (pool.generation < accepted) {
    throw fail(
      'OrderRefused',
      `order ${orderId} is of generation ${pool.generation} of pool ${pool.name}, and ${node} has accepted ${accepted}`,
    );
  }
  const others = generations.filter(({ uid }) => uid !== pool.uid);
  const generation = Math.max(accepted, order.takesBack === true ? 0 : pool.generation);
  const isAnother = current !== undefined && current !== config.name;
  const ranBefore = isAnother ? current : record.ranBefore;
  return {
    pool: pool.uid,
    generations: [...others, { uid: pool.uid, generation }].slice(-POOLS_KEPT),
    ...(ranBefore === undefined ? {} : { ranBefore }),
  };
}

/** A host without a record has nothing to compare with. */
function refuseOtherWayBack(
  { orderId, node, config }: HostOrder,
  { ranBefore }: PoolRecord,
  current: string | undefined,
): void {
  if (current === undefined || config.name === current || config.name === ranBefore) return;
  throw fail(
    'OrderRefused',
    `order ${orderId} takes ${node} back to ${config.name}, which it did not run before`,
  );
}
