import type { Node } from '../../core/node/types';
import { assignNodes, type Membership } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterPorts } from './ports';

type PoolsAndNodes = { readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'> };

export interface PoolMembers {
  readonly members: readonly Node[];
  /** Why nobody knows them: Kubernetes would refuse the selector of this pool, or of one that may own them. */
  readonly unreadable?: string;
}

/** Members by pool, cached until a node or a pool changes. */
export function membershipOf({ view }: PoolsAndNodes): (pool: MachineConfigPool) => PoolMembers {
  let nodes: readonly Node[] | undefined;
  let pools: readonly MachineConfigPool[] | undefined;
  let known: Membership | undefined;
  return (pool) => {
    if (nodes !== view.nodes.list() || pools !== view.pools.list()) {
      nodes = view.nodes.list();
      pools = view.pools.list();
      known = assignNodes(nodes, pools);
    }
    const { name } = pool.metadata;
    const { invalidPools = [] } = known ?? {};
    const invalid = invalidPools.find((one) => one.pool === name) ?? invalidPools[0];
    return {
      members: known?.members.get(name) ?? [],
      ...(invalid === undefined ? {} : { unreadable: invalid.reason }),
    };
  };
}
