import { messageOf } from '../core/errors';
import type { MachineConfigNode, Node } from '../core/node/types';
import { primaryPoolForNode } from '../core/pool/membership';
import type { MachineConfigPool } from '../core/pool/types';
import type { PeerSubject } from './ports';

const NODE_PREFIX = 'system:node:';
const NODES_GROUP = 'system:nodes';
const MASTER_POOL = 'master';

export type Verdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** Of its own pool, which has another target by now. */
      readonly isOutdated?: true;
      readonly reason: string;
    };

/** Undefined for any other subject. */
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
 * A node may read the target of its pool, and what its MachineConfigNode says that it runs, or is updated to: also of
 * the pool that it leaves. A node in no pool reads none: a rollback uses its disk.
 *
 * Only labels that NodeRestriction protects keep a kubelet out of other pools; it may write
 * annotations. Configs of the `master` pool hold secrets of the control plane.
 */
export function mayRead(input: Asked): Verdict {
  const { nodeName, node, config } = input;
  const own = poolName(node, input.pools);
  if ('reason' in own) return denied(`node ${nodeName}: ${own.reason}`);
  const left = own.pool === undefined ? undefined : input.machineConfigNode?.spec.pool.name;
  const isOfOwn = config.pool !== undefined && config.pool === own.pool;
  const isOfLeft = config.pool !== undefined && config.pool === left && left !== MASTER_POOL;
  if (!isOfOwn && !isOfLeft) {
    const owner = config.pool === undefined ? 'no pool' : `pool ${config.pool}`;
    return denied(
      `config ${config.name} belongs to ${owner}, node ${nodeName} to ${own.pool === undefined ? 'none' : `pool ${own.pool}`}`,
    );
  }
  if (own.target === config.name || isOnNode(config.name, input.machineConfigNode)) {
    return { allowed: true };
  }
  const reason = `config ${config.name} is not the target of pool ${own.pool ?? ''}, and node ${nodeName} neither runs it nor is updated to it`;
  return { allowed: false, isOutdated: true, reason };
}

/** No kubelet writes a MachineConfigNode. */
function isOnNode(config: string, known: MachineConfigNode | undefined): boolean {
  return [known?.status?.configVersion?.current, known?.spec.configVersion.desired].includes(
    config,
  );
}

/** The pool whose bundle a node gets: its own, by its labels, and no other. */
export function bundlePool(
  node: Node,
  pools: readonly MachineConfigPool[],
): { readonly pool: string } | { readonly reason: string } {
  const { name } = node.metadata;
  const own = poolName(node, pools);
  if ('reason' in own) return { reason: `node ${name}: ${own.reason}` };
  return own.pool === undefined ? { reason: `node ${name} is in no pool` } : { pool: own.pool };
}

function poolName(
  node: Node,
  pools: readonly MachineConfigPool[],
): { readonly pool?: string; readonly target?: string } | { readonly reason: string } {
  try {
    const pool = primaryPoolForNode(node, pools);
    if (pool === undefined) return {};
    const target = pool.spec.configuration?.name;
    return { pool: pool.metadata.name, ...(target === undefined ? {} : { target }) };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

function denied(reason: string): Verdict {
  return { allowed: false, reason };
}
