/** Whether the API server shows what an order to prepare an update names: nothing else is signed. */

import { isDeepStrictEqual } from 'node:util';
import type { NodeDisruptionPolicy } from '../disruption/types';
import { messageOf } from '../errors';
import { ANNOTATION } from '../names';
import { currentConfigOf } from '../node/predicates';
import type { Node } from '../node/types';
import { primaryPoolForNode } from '../pool/membership';
import type { MachineConfigPool } from '../pool/types';

export interface ShownCluster {
  readonly node: Node | undefined;
  readonly pools: readonly MachineConfigPool[];
  readonly disruptionPolicies: NodeDisruptionPolicy;
}

/** The part of an order that introduces a config to a host. */
export interface IntroducingOrder {
  readonly node: string;
  readonly pool: { readonly name: string; readonly uid: string; readonly generation: number };
  readonly config: { readonly name: string };
  readonly currentConfig?: { readonly name: string };
  readonly disruptionPolicies: NodeDisruptionPolicy;
  readonly takesBack?: true;
}

/** `generation` of the pool that shows the config; or why the order does not fit, a sentence. */
export type Shown = { readonly generation: number } | { readonly differs: string };

export function compareWithShown(order: IntroducingOrder, shown: ShownCluster): Shown {
  const { node: name, pool: ordering } = order;
  const { node } = shown;
  if (node === undefined) return { differs: `there is no node ${name}` };
  const pool = poolOf(node, shown.pools);
  if ('differs' in pool) return pool;
  const { uid, generation = 0 } = pool.metadata;
  if (pool.metadata.name !== ordering.name || uid !== ordering.uid) {
    return { differs: `node ${name} is in pool ${pool.metadata.name} (UID ${uid ?? 'none'})` };
  }
  if (generation < ordering.generation) {
    return { differs: `pool ${ordering.name} is of generation ${generation}` };
  }
  const wanted = wantedConfig(order, node, pool);
  if (wanted.config !== order.config.name) {
    return { differs: `${wanted.of} is ${wanted.config ?? 'not set'}` };
  }
  const current = currentConfigOf(node);
  if (order.currentConfig !== undefined && order.currentConfig.name !== current) {
    return { differs: `node ${name} runs ${current ?? 'no config'}` };
  }
  if (!isDeepStrictEqual(order.disruptionPolicies, shown.disruptionPolicies)) {
    return { differs: 'other disruption policies are in force' };
  }
  return { generation };
}

function poolOf(
  node: Node,
  pools: readonly MachineConfigPool[],
): MachineConfigPool | { readonly differs: string } {
  const { name } = node.metadata;
  try {
    return primaryPoolForNode(node, pools) ?? { differs: `node ${name} is in no pool` };
  } catch (error) {
    return { differs: messageOf(error) };
  }
}

/** The target of the pool; without one, what the node was on its way to. Of a way back, what the node runs. */
function wantedConfig(
  { takesBack, node: name }: IntroducingOrder,
  node: Node,
  { metadata, spec }: MachineConfigPool,
): { readonly config: string | undefined; readonly of: string } {
  if (takesBack === true)
    return { config: currentConfigOf(node), of: `the config of node ${name}` };
  const target = spec.configuration?.name || undefined;
  const onItsWay = node.metadata.annotations?.[ANNOTATION.DESIRED_CONFIG];
  return { config: target ?? onItsWay, of: `the target of pool ${metadata.name}` };
}
