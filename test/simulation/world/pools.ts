/** The pools of a simulated cluster: `worker`, and custom ones that take nodes from it by a label. */

import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';

/** The first one is in every scenario. */
export const POOL_NAMES = ['worker', 'infra', 'edge'] as const;
export const WORKER = POOL_NAMES[0];

/** The label of a role, as people set it on Nodes. */
function roleLabel(pool: string): string {
  return `node-role.kubernetes.io/${pool}`;
}

/** What puts a node into the pool: nodes of a custom pool are workers, too. */
export function labelsFor(pool: string): Readonly<Record<string, string>> {
  return { [roleLabel(WORKER)]: '', ...(pool === WORKER ? {} : { [roleLabel(pool)]: '' }) };
}

/** Of a node that several custom pools claim: none of them gets it. */
const NO_POOL = '';

/** Told from the labels alone, in words of its own: the observer decides nothing with the product. */
export function poolOfLabels({ metadata }: Node): string {
  const { labels = {} } = metadata;
  const [custom, another] = POOL_NAMES.filter(
    (pool) => pool !== WORKER && roleLabel(pool) in labels,
  );
  return another === undefined ? (custom ?? WORKER) : NO_POOL;
}

export function aPool(
  name: string,
  maxUnavailable: number | string,
  config: string,
): MachineConfigPool {
  return {
    metadata: { name, uid: name },
    spec: {
      nodeSelector: { matchLabels: { [roleLabel(name)]: '' } },
      machineConfigSelector: {},
      maxUnavailable,
      configuration: { name: config },
    },
  };
}
