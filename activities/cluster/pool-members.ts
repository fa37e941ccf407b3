import type { Node } from '../../core/node/types';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterPorts } from './ports';

type PoolsAndNodes = { readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'> };

/** Members by pool, cached until a node or a pool changes. */
export function membershipOf({
  view,
}: PoolsAndNodes): (pool: MachineConfigPool) => readonly Node[] {
  let nodes: readonly Node[] | undefined;
  let pools: readonly MachineConfigPool[] | undefined;
  let members: ReadonlyMap<string, readonly Node[]> = new Map();
  return (pool) => {
    if (nodes !== view.nodes.list() || pools !== view.pools.list()) {
      nodes = view.nodes.list();
      pools = view.pools.list();
      members = assignNodes(nodes, pools).members;
    }
    return members.get(pool.metadata.name) ?? [];
  };
}
