/** The taint controller of a simulated cluster: its decision is the product's, its work queue is not. */

import { dueTaints, taintsOf } from '../../../controllers/nodes/due-taints';
import type { VirtualClock } from '../clock';
import type { Cluster } from './cluster';
import type { ActivityPlants } from './plants';

/** So many writes in so much time, as in the product. */
const WRITES = 10;
const PER_MS = 1_000;
/** A server that is away is asked ever more seldom. */
const AWAY_MS = 30_000;
/** After which the watch shows one: no number is drawn, so that no other draw depends on the taint. */
const LAG_MS = 50;

export class Taints {
  private isPlanned = false;

  constructor(
    private readonly clock: VirtualClock,
    private readonly cluster: Cluster,
    private readonly plants: ActivityPlants,
  ) {}

  /** Something has changed. */
  plan(afterMs = PER_MS): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.clock.after(afterMs, () => {
      this.isPlanned = false;
      this.look();
    });
  }

  private look(): void {
    const { cluster } = this;
    if (cluster.isAway) {
      this.plan(AWAY_MS);
      return;
    }
    const { nodes, pools, machineConfigNodes } = cluster.watch;
    const { inLine, due } = dueTaints({
      ...{ nodes, pools, machineConfigNodes },
      policies: { get: (name) => ({ metadata: { name }, spec: cluster.policy(name) }) },
    });
    if (due.length > 0) this.plan();
    for (const node of due.slice(0, WRITES)) {
      const { name, resourceVersion } = node.metadata;
      const isAsSeen = cluster.nodes.get(name)?.metadata.resourceVersion === resourceVersion;
      const taints = taintsOf(node, inLine.has(name));
      const isLeft = this.plants.leavesTaints === true && !inLine.has(name);
      if (isAsSeen && !isLeft) cluster.changeNode(name, { taints }, 'slipway', LAG_MS);
    }
  }
}
