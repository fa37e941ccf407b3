/**
 * Membership of nodes in pools.
 *
 * A node may match several pools by its labels; it runs the config of its primary pool. Custom
 * pools inherit from `worker`, so a custom pool beats `worker`; `master` beats everything.
 *
 * @see MCO pkg/helpers/helpers.go, GetPoolsForNode, GetPrimaryPoolForNode (7ff337a4)
 */

import { fail, messageOf } from '../errors';
import { LABEL } from '../names';
import type { Node } from '../node/types';
import { compileSelector, type CompiledSelector } from '../selectors';
import type { MachineConfigPool } from './types';

const MASTER_POOL = 'master';
const WORKER_POOL = 'worker';

/** The first is the primary pool. */
interface PoolsOfNode {
  readonly pools: readonly MachineConfigPool[];
  /** A custom pool that a master matches and that is ignored, which deserves an alert. */
  readonly ignoredCustomPool?: MachineConfigPool;
}

/**
 * The pools of a node, primary first; none when no pool matches or when it is a Windows node.
 *
 * @throws `NodeInSeveralPools` when more than one custom pool matches, in MCO's words
 * @throws `InvalidPool` when a pool has a selector that Kubernetes would refuse
 */
export function poolsForNode(node: Node, pools: readonly MachineConfigPool[]): PoolsOfNode {
  return poolsAmong(node, pools.map(compilePool));
}

/** Undefined = the node is unmanaged. Throws as `poolsForNode`. */
export function primaryPoolForNode(
  node: Node,
  pools: readonly MachineConfigPool[],
): MachineConfigPool | undefined {
  return poolsForNode(node, pools).pools[0];
}

/** All nodes by primary pool, and faults that keep nodes out of pools. */
export interface Membership {
  /** Members by pool name, in the order of the given nodes; every pool has an entry. */
  readonly members: ReadonlyMap<string, readonly Node[]>;
  /** Nodes in several custom pools. Like MCO, no pool gets them; unlike MCO, they are reported. */
  readonly conflicts: readonly { readonly node: string; readonly reason: string }[];
  /** Pools whose selector Kubernetes would refuse: they match nothing. */
  readonly invalidPools: readonly { readonly pool: string; readonly reason: string }[];
}

/** Names of the pools whose members differ between the two lists of pools. */
export function poolsWithOtherNodes(
  nodes: readonly Node[],
  before: readonly MachineConfigPool[],
  after: readonly MachineConfigPool[],
): ReadonlySet<string> {
  const was = homesOf(nodes, before);
  const is = homesOf(nodes, after);
  const homes = nodes
    .map(({ metadata: { name } }) => [was.get(name), is.get(name)])
    .filter(([from, to]) => from !== to);
  return new Set(homes.flat().filter((pool) => pool !== undefined));
}

function homesOf(
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
): ReadonlyMap<string, string> {
  const { members } = assignNodes(nodes, pools);
  return new Map(
    [...members].flatMap(([pool, own]) => own.map(({ metadata }) => [metadata.name, pool])),
  );
}

/**
 * Sorts all nodes into their pools in one pass. Unlike in `poolsForNode`, an invalid selector
 * affects only its own pool, and a contested node only itself.
 */
export function assignNodes(
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
): Membership {
  const invalidPools: { pool: string; reason: string }[] = [];
  const compiled = pools.flatMap((pool) => {
    try {
      return [compilePool(pool)];
    } catch (error) {
      invalidPools.push({ pool: pool.metadata.name, reason: messageOf(error) });
      return [];
    }
  });
  const members = new Map<string, Node[]>(pools.map((pool) => [pool.metadata.name, []]));
  const conflicts: { node: string; reason: string }[] = [];
  for (const node of nodes) {
    try {
      const primary = poolsAmong(node, compiled).pools[0];
      if (primary !== undefined) members.get(primary.metadata.name)?.push(node);
    } catch (error) {
      conflicts.push({ node: node.metadata.name, reason: messageOf(error) });
    }
  }
  return { members, conflicts, invalidPools };
}

/**
 * Nodes that no pool selects, so that nothing is rolled to them: kubeadm and k3s give workers no
 * role label. Without contested nodes, which their pools report, and Windows nodes, which no pool
 * serves.
 */
export function nodesInNoPool(
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
): readonly Node[] {
  if (pools.length === 0) return [];
  const { members, conflicts } = assignNodes(nodes, pools);
  const known = new Set(conflicts.map(({ node }) => node));
  for (const own of members.values()) for (const { metadata } of own) known.add(metadata.name);
  return nodes.filter((node) => !known.has(node.metadata.name) && !isWindows(node));
}

/** How to put a node into a pool: the worker label, if a pool selects it by that. */
export function poolHint({ metadata }: Node, pools: readonly MachineConfigPool[]): string {
  const labelled = {
    metadata: { ...metadata, labels: { ...metadata.labels, [LABEL.WORKER]: '' } },
  };
  const { members } = assignNodes([labelled], pools);
  return [...members.values()].some(({ length }) => length > 0)
    ? `kubectl label node ${metadata.name} ${LABEL.WORKER}=`
    : 'label it as the nodeSelector of a pool asks for';
}

/** The members of one pool among all nodes; see `assignNodes`. */
export function nodesOfPool(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
): readonly Node[] {
  return assignNodes(nodes, pools).members.get(pool.metadata.name) ?? [];
}

interface CompiledPool {
  readonly pool: MachineConfigPool;
  readonly selector: CompiledSelector;
}

function compilePool(pool: MachineConfigPool): CompiledPool {
  try {
    return { pool, selector: compileSelector(pool.spec.nodeSelector) };
  } catch (error) {
    throw fail(
      'InvalidPool',
      `machineconfigpool ${pool.metadata.name}: spec.nodeSelector: invalid label selector: ${messageOf(error)}`,
      { pool: pool.metadata.name, field: 'spec.nodeSelector' },
    );
  }
}

function poolsAmong(node: Node, pools: readonly CompiledPool[]): PoolsOfNode {
  if (isWindows(node)) return { pools: [] };
  const matching = pools
    .filter(({ selector }) => !selector.empty && selector.matches(node.metadata.labels))
    .map(({ pool }) => pool);
  const master = matching.find((pool) => pool.metadata.name === MASTER_POOL);
  const worker = matching.find((pool) => pool.metadata.name === WORKER_POOL);
  const custom = matching.filter((pool) => pool !== master && pool !== worker);
  const [customPool, another] = custom;

  if (another !== undefined) {
    throw fail(
      'NodeInSeveralPools',
      `node ${node.metadata.name} belongs to ${custom.length} custom roles, cannot proceed with this Node`,
      { node: node.metadata.name, pools: custom.map((pool) => pool.metadata.name) },
    );
  }
  if (customPool === undefined) return { pools: [master ?? worker].filter(isPool) };
  return {
    pools: [master ?? customPool, worker].filter(isPool),
    ...(master === undefined ? {} : { ignoredCustomPool: customPool }),
  };
}

function isWindows({ metadata }: Node): boolean {
  return metadata.labels?.[LABEL.OS] === 'windows';
}

function isPool(pool: MachineConfigPool | undefined): pool is MachineConfigPool {
  return pool !== undefined;
}
