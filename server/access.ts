/** Who may read which config. Pure decisions on what the cluster shows. */

import { messageOf } from '../core/errors';
import type { MachineConfigNode, Node } from '../core/node/types';
import { primaryPoolForNode } from '../core/pool/membership';
import type { MachineConfigPool } from '../core/pool/types';
import type { PeerSubject } from './ports';

const NODE_PREFIX = 'system:node:';
const NODES_GROUP = 'system:nodes';
const MASTER_POOL = 'master';

export type Verdict =
  { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** The node behind a kubelet's client certificate; undefined when it is not one. */
export function nodeOfPeer(peer: PeerSubject | undefined): string | undefined {
  if (peer === undefined || !peer.organizations.includes(NODES_GROUP)) return undefined;
  const [name, another] = peer.commonNames;
  if (name === undefined || another !== undefined || !name.startsWith(NODE_PREFIX))
    return undefined;
  return name.slice(NODE_PREFIX.length) || undefined;
}

export interface Asked {
  readonly nodeName: string;
  readonly node: Node;
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigNode: MachineConfigNode | undefined;
  readonly config: { readonly name: string; readonly pool?: string };
}

/**
 * Whether a node may read a config: one of its own pool, or of the pool that its MachineConfigNode still
 * names while it goes over to its own. A node that is taken out of all pools may read none: no update of it
 * goes on, and what an update takes back is on its disk.
 *
 * Both are what only others write, as far as pools select by labels that NodeRestriction keeps from
 * kubelets: a pool that only another label tells from the rest is open to whoever controls a kubelet, which
 * may set that on its own Node. Its annotations are not asked, because a kubelet may write those, too; nor
 * are the configs that a MachineConfigNode names, which come from them at first. Configs of the `master` pool hold the secrets
 * of the control plane, and are for its members only.
 */
export function mayRead(input: Asked): Verdict {
  const { nodeName, node, config } = input;
  const own = poolName(node, input.pools);
  if ('reason' in own) return denied(`node ${nodeName}: ${own.reason}`);
  if (config.pool !== undefined && config.pool === own.pool) return { allowed: true };
  const left = own.pool === undefined ? undefined : input.machineConfigNode?.spec.pool.name;
  if (config.pool !== undefined && config.pool === left && left !== MASTER_POOL) {
    return { allowed: true };
  }
  const owner = config.pool === undefined ? 'no pool' : `pool ${config.pool}`;
  return denied(
    `config ${config.name} belongs to ${owner}, node ${nodeName} to ${own.pool === undefined ? 'none' : `pool ${own.pool}`}`,
  );
}

function poolName(
  node: Node,
  pools: readonly MachineConfigPool[],
): { readonly pool?: string } | { readonly reason: string } {
  try {
    const pool = primaryPoolForNode(node, pools)?.metadata.name;
    return pool === undefined ? {} : { pool };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

function denied(reason: string): Verdict {
  return { allowed: false, reason };
}
