/** The taint of nodes that will be drained: on which nodes it may be, in the observer's own words (I2). */

import type { Node } from '../../core/node/types';
import type { Cluster } from './world/cluster';
import { lastRun } from './outages';
import { poolOfLabels } from './world/pools';

const MCO = 'machineconfiguration.openshift.io';

/** A controller that writes ten nodes a second has done it long before. */
const LEFT_MS = 60_000;

export function isTainted({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(({ key }) => key === 'UpdateInProgress');
}

export class Taints {
  /** Since when a node has it for nothing. */
  private readonly since = new Map<string, number>();

  constructor(private readonly breaks: (what: string) => void) {}

  look(cluster: Cluster, nowMs: number): void {
    for (const [name, node] of cluster.nodes) {
      // Nobody can take it away while the API server is.
      if (cluster.isAway || !isTainted(node) || isInLine(node, cluster)) {
        this.since.delete(name);
        continue;
      }
      const since = this.since.get(name) ?? nowMs;
      this.since.set(name, since);
      if (nowMs - since <= LEFT_MS) continue;
      this.since.set(name, Infinity);
      this.breaks(`${name} has the taint of a node that will be drained, and nobody will drain it`);
    }
  }
}

/** An update has it; or its pool rolls, and it has neither come to the config nor failed on it, unless it is to be tried again, nor does a person hold it. */
function isInLine(node: Node, { pools }: Cluster): boolean {
  if (lastRun(node)?.isOver === false) return true;
  const pool = pools.get(poolOfLabels(node));
  const target = pool?.spec.configuration?.name;
  if (pool === undefined || target === undefined || pool.spec.paused === true) return false;
  if (pool.metadata.annotations?.['slipway.dev/rollout-cancelled'] === target) return false;
  const { annotations: told = {} } = node.metadata;
  const state = told[`${MCO}/state`];
  const isOn = told[`${MCO}/desiredConfig`] === target;
  const isThere = isOn && told[`${MCO}/currentConfig`] === target && state === 'Done';
  const hasFailed = isOn && (state === 'Degraded' || state === 'Unreconcilable');
  const isTold = told['slipway.dev/retry-for'] === target;
  return !isThere && (!hasFailed || isTold) && told['slipway.dev/held-for'] !== target;
}
