/** Whether a pool still has room for one more node out of service, at the moment of the cordon. */

import { fail, failureName } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { slotCount } from '../../core/pool/capacity';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import { fewNames, isLeftUnavailable, takesSlot } from '../../core/rollout';
import type { NodeStep } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { inParallel } from './in-parallel';

/** Nodes are read at most so many at once; only when the pool seems to be full. */
const PARALLEL_READS = 10;

type Ports = Pick<ClusterPorts, 'view' | 'nodes'>;

/**
 * A slot is given for what the rollout saw. Between that and the cordon the API server or every cluster
 * worker may have been away, and other nodes may have gone down or the limit been lowered: so it is
 * counted once more. A node that an update of ours left unavailable takes no more room; one that is down by
 * itself may be back in a moment, and does.
 *
 * The picture may be behind and show a node that is back by now, so before it refuses it asks.
 *
 * @throws `SlotNeeded` naming the pool and the nodes that are out of service
 */
export async function refuseWithoutRoom(ports: Ports, { node, pool }: NodeStep): Promise<void> {
  const { view } = ports;
  const known = view.pools.get(pool);
  const self = view.nodes.get(node);
  if (known === undefined || self === undefined || isLeftUnavailable(self)) return;
  const all = view.nodes.list();
  const limit = limitOf(known, all, view.pools.list());
  const seen = othersDown(all, node);
  // Most of the time this is the whole look: there are fewer in all pools together.
  if (seen.length < limit) return;
  const ofPool = membersOf(seen, known, view.pools.list());
  if (ofPool.length < limit) return;
  const down = othersDown(await readAll(ports, ofPool), node);
  if (down.length < limit) return;
  throw fail('SlotNeeded', noRoom(pool, limit, down), { node });
}

function othersDown(nodes: readonly Node[], node: string): readonly Node[] {
  return nodes.filter((one) => one.metadata.name !== node && takesSlot(one));
}

function membersOf(
  nodes: readonly Node[],
  pool: MachineConfigPool,
  pools: readonly MachineConfigPool[],
): readonly Node[] {
  return assignNodes(nodes, pools).members.get(pool.metadata.name) ?? [];
}

/** Only a percentage asks how many nodes the pool has. A limit that nobody can mean lets none go. */
function limitOf(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
): number {
  const isShare = typeof pool.spec.maxUnavailable === 'string';
  const count = isShare ? membersOf(nodes, pool, pools).length : nodes.length;
  try {
    return slotCount(pool, count);
  } catch (error) {
    if (failureName(error) === 'InvalidPool') return 0;
    throw error;
  }
}

async function readAll({ nodes }: Ports, seen: readonly Node[]): Promise<readonly Node[]> {
  const read: Node[] = [];
  await inParallel(seen, PARALLEL_READS, async ({ metadata: { name } }) => {
    try {
      read.push(await nodes.read(name));
    } catch (error) {
      // Gone: it is out of no pool's service any more.
      if (failureName(error) !== 'ObjectNotFound') throw error;
    }
  });
  return read;
}

function noRoom(pool: string, limit: number, down: readonly Node[]): string {
  const names = down.map(({ metadata: { name } }) => name);
  return (
    `pool ${pool} has no room any more: maxUnavailable is ${limit}, ` +
    `and out of service are ${fewNames(names)}`
  );
}
