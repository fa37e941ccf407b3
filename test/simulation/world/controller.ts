/**
 * The rollout controller, the node controllers and the status controller of a simulated cluster: when a
 * rollout must be open, what it hears, which mark of a cordon is left over, which nodes have the taint of those
 * that will be drained, what a pool says of itself.
 * The decisions are the product's; the work queue with its real timers is not.
 */

import { cordonMarkCleared, isCordonMarkLeftOver } from '../../../controllers/nodes/cordon-mark';
import { firstStatus } from '../../../controllers/nodes/first-status';
import { unsaidEnd } from '../../../controllers/nodes/unsaid-end';
import { decideRollout } from '../../../controllers/rollout/decision';
import { newsFor } from '../../../controllers/rollout/node-interest';
import { failureName } from '../../../core/errors';
import { ANNOTATION, NodeState } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import { nodesOfPool, poolsForNode } from '../../../core/pool/membership';
import { poolStatus, type PoolStatus } from '../../../core/pool/status';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { RolloutWaker } from '../../../process/temporal/rollout-waker';
import type { SeenVersions } from '../../../workflows/contracts/rollout';
import type { Chance, VirtualClock } from '../clock';
import type { TemporalClient } from '../temporal/client';
import type { Cluster } from './cluster';
import type { ActivityPlants } from './plants';
import { Taints } from './taints';

/** How often it is looked whether the rollout is still open. */
const CHECK_MS = 10_000;

interface ControllerParts {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly cluster: Cluster;
  readonly client: TemporalClient;
  readonly waker: RolloutWaker;
  readonly plants: ActivityPlants;
}

export class Controllers {
  private readonly rollouts: ReadonlyMap<string, RolloutOfPool>;
  private readonly taints: Taints;

  constructor(private readonly parts: ControllerParts) {
    const { cluster, clock, plants } = parts;
    this.taints = new Taints(clock, cluster, plants);
    this.rollouts = new Map(
      [...cluster.pools.keys()].map((pool) => [pool, new RolloutOfPool(pool, parts)]),
    );
    cluster.watch.nodes.onChange = (change) => {
      this.taints.plan();
      const isNews = newsFor(change) !== undefined;
      if (isNews) for (const pool of this.concerned(change)) this.hear(pool);
      if (change.current !== undefined && isCordonMarkLeftOver(change.current)) {
        this.clearMark(change.current.metadata.name);
      }
    };
    cluster.watch.pools.onChange = ({ previous, current }) => {
      this.taints.plan();
      const pool = (current ?? previous)?.metadata.name;
      if (pool !== undefined) this.hear(pool);
    };
  }

  begin(): void {
    this.taints.plan();
    for (const rollout of this.rollouts.values()) rollout.hear();
    const check = (): void => {
      this.parts.clock.after(CHECK_MS, () => {
        for (const rollout of this.rollouts.values()) rollout.plan();
        this.lookAtNodes();
        this.lookAtPools();
        check();
      });
    };
    check();
  }

  hear(pool: string): void {
    this.taints.plan();
    this.rollouts.get(pool)?.hear();
  }

  /** What the product says of the pool, from everything that there is. */
  statusOf(pool: MachineConfigPool): PoolStatus {
    const { cluster, clock, plants } = this.parts;
    const nodes = [...cluster.nodes.values()];
    return poolStatus({
      pool,
      nodes:
        plants.statusOfAllNodes === true
          ? nodes
          : nodesOfPool(pool, nodes, [...cluster.pools.values()]),
      machineConfigNodes: [...cluster.machineConfigNodes.values()],
      now: new Date(clock.now).toISOString(),
    });
  }

  /** Each status follows from the one before, so it is kept; nobody else reads it. */
  private lookAtPools(): void {
    const { cluster } = this.parts;
    for (const [name, pool] of cluster.pools) {
      cluster.pools.set(name, { ...pool, status: this.statusOf(pool) });
    }
  }

  /** The primary pool, and the one that the node may fall back to, before and after. */
  private concerned(change: {
    readonly previous?: Node;
    readonly current?: Node;
  }): ReadonlySet<string> {
    const pools = this.parts.cluster.watch.pools.list();
    const nodes = [change.previous, change.current].filter((node) => node !== undefined);
    return new Set(nodes.flatMap((node) => poolNames(node, pools)));
  }

  /** MachineConfigNodes of nodes that joined, or whose update was lost, and the pool of those that were moved. */
  private lookAtNodes(): void {
    const { cluster, clock } = this.parts;
    if (cluster.isAway) return;
    const pools = [...cluster.pools.values()];
    for (const node of cluster.nodes.values()) {
      const { name, uid = name, annotations = {} } = node.metadata;
      const [pool] = poolNames(node, pools);
      if (pool === undefined) continue;
      const known = cluster.machineConfigNodes.get(name);
      const desired = annotations[ANNOTATION.DESIRED_CONFIG] ?? 'NotYetSet';
      if (known === undefined) {
        if (!cluster.joined.has(name)) continue;
        const spec = { node: { name }, pool: { name: pool }, configVersion: { desired } };
        cluster.writeMachineConfigNode({ metadata: { name, uid }, spec });
      } else if (known.spec.pool.name !== pool) {
        if (annotations[ANNOTATION.STATE] === NodeState.WORKING) continue;
        cluster.writeMachineConfigNode({ ...known, spec: { ...known.spec, pool: { name: pool } } });
      } else {
        const now = new Date(clock.now).toISOString();
        const first = cluster.joined.has(name) ? firstStatus(node, known, now) : undefined;
        const status = first ?? unsaidEnd(node, known, now);
        if (status === undefined) continue;
        const { configVersion } = status;
        const spec = { ...known.spec, configVersion: { desired: configVersion.desired } };
        cluster.writeMachineConfigNode({ ...known, spec, status });
      }
    }
  }

  private clearMark(name: string): void {
    const { clock, chance, cluster } = this.parts;
    clock.after(chance.between(50, 2_000), () => {
      const node = cluster.nodes.get(name);
      if (node === undefined || !isCordonMarkLeftOver(node) || cluster.isAway) return;
      // The product guards this write with the version that it saw.
      if (JSON.stringify(cordonMarkCleared(node)).includes(ANNOTATION.CORDONED_BY)) {
        cluster.changeNode(name, { annotations: { [ANNOTATION.CORDONED_BY]: null } }, 'slipway');
      }
    });
  }
}

/** The primary one first; none where several custom pools claim the node. */
function poolNames(node: Node, pools: readonly MachineConfigPool[]): readonly string[] {
  try {
    return poolsForNode(node, pools).pools.map(({ metadata }) => metadata.name);
  } catch (error) {
    if (failureName(error) !== 'NodeInSeveralPools') throw error;
    return [];
  }
}

/** What the rollout controller knows and does of one pool. */
class RolloutOfPool {
  /** What the next picture has to show; undefined = nothing has changed. */
  private news: SeenVersions | undefined;
  private isPlanned = false;

  constructor(
    private readonly pool: string,
    private readonly parts: ControllerParts,
  ) {}

  hear(): void {
    this.news = this.versions();
    this.plan();
  }

  plan(afterMs = this.parts.chance.between(100, 600)): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.parts.clock.after(afterMs, () => {
      this.isPlanned = false;
      // Not awaited: its requests take time, which does not pass before this event is over.
      void this.sync();
    });
  }

  private async sync(): Promise<void> {
    const { cluster, client, waker } = this.parts;
    const { watch } = cluster;
    const pool = watch.pools.get(this.pool);
    const { news } = this;
    this.news = undefined;
    if (pool === undefined) return;
    const spec = cluster.policy(this.pool);
    const policy = { metadata: pool.metadata, spec } as RolloutPolicy;
    const nodes = nodesOfPool(pool, watch.nodes.list(), watch.pools.list());
    const { kind } = decideRollout({ pool, nodes, policy });
    const mustBeOpen = kind === 'roll' || kind === 'finish';
    try {
      // Without news it is only looked for, and with them it is started only where it must be open.
      if (news === undefined ? !mustBeOpen : mustBeOpen) {
        if (news !== undefined) await waker.wake(this.pool, news);
        return;
      }
      const isOpen = await client.isOpen(this.pool);
      if (isOpen === (news !== undefined)) await waker.wake(this.pool, news ?? this.versions());
    } catch {
      this.news ??= news;
      this.plan(2_000);
    }
  }

  private versions(): SeenVersions {
    const { nodes, pools } = this.parts.cluster.watch;
    return { nodes: nodes.newest, pools: pools.newest };
  }
}
