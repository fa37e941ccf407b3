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
import { ANNOTATION, NodeState, poolRolloutId } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import { nodesOfPool, poolsForNode, primaryPoolForNode } from '../../../core/pool/membership';
import { poolStatus, type PoolStatus } from '../../../core/pool/status';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { PictureVersions } from '../../../workflows/contracts/cluster';
import type { ClusterNews } from '../../../workflows/messages';
import type { Chance, VirtualClock } from '../clock';
import type { TemporalModel, UpdateAnswer } from '../temporal/server';
import type { Cluster } from './cluster';
import type { ActivityPlants } from './plants';
import { Taints } from './taints';

/** How often it is looked whether the rollout is still open. */
const CHECK_MS = 30_000;

interface ControllerParts {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly cluster: Cluster;
  readonly temporal: TemporalModel;
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
      const news = newsFor(change);
      if (news !== undefined) for (const pool of this.concerned(change)) this.hear(pool, news);
      if (change.current !== undefined && isCordonMarkLeftOver(change.current)) {
        this.clearMark(change.current.metadata.name);
      }
    };
    cluster.watch.pools.onChange = ({ previous, current }) => {
      this.taints.plan();
      const pool = (current ?? previous)?.metadata.name;
      if (pool !== undefined) this.hear(pool, 'the pool changed');
    };
  }

  begin(): void {
    this.taints.plan();
    for (const rollout of this.rollouts.values()) rollout.plan();
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

  hear(pool: string, news: string): void {
    this.taints.plan();
    this.rollouts.get(pool)?.hear(news);
  }

  /** Starts the rollout, or aims the open one at the config: `updateWithStart`. */
  retarget(pool: string, config: string): Promise<UpdateAnswer> {
    return retarget(this.parts.temporal, pool, config);
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
    const found = nodes.flatMap((node) => poolsForNode(node, pools).pools);
    return new Set(found.map(({ metadata }) => metadata.name));
  }

  /** MachineConfigNodes of nodes that joined, or whose update was lost, and the pool of those that were moved. */
  private lookAtNodes(): void {
    const { cluster, clock } = this.parts;
    if (cluster.isAway) return;
    const pools = [...cluster.pools.values()];
    for (const node of cluster.nodes.values()) {
      const { name, uid = name, annotations = {} } = node.metadata;
      const pool = primaryPoolForNode(node, pools)?.metadata.name ?? '';
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

/** What the rollout controller knows and does of one pool. */
class RolloutOfPool {
  private announced: string | undefined;
  private wasMissing = false;
  private news: ClusterNews | undefined;
  private isPlanned = false;

  constructor(
    private readonly pool: string,
    private readonly parts: ControllerParts,
  ) {}

  hear(reason: string): void {
    this.news = { reason, versions: this.versions() };
    this.plan();
  }

  plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.parts.clock.after(this.parts.chance.between(100, 600), () => {
      this.isPlanned = false;
      this.sync();
    });
  }

  private sync(): void {
    const { cluster } = this.parts;
    const { watch } = cluster;
    const pool = watch.pools.get(this.pool);
    const { news } = this;
    this.news = undefined;
    if (pool === undefined) return;
    const spec = cluster.policy(this.pool);
    const policy = { metadata: pool.metadata, spec } as RolloutPolicy;
    const nodes = nodesOfPool(pool, watch.nodes.list(), watch.pools.list());
    const decision = decideRollout({ pool, nodes, policy });
    if (decision.kind !== 'roll') {
      this.announced = undefined;
      this.wasMissing = false;
      if (news !== undefined) this.wake(news);
      return;
    }
    if (this.announced !== decision.target) this.aim(decision.target);
    else if (news === undefined ? this.isOpen() : this.wake(news)) this.wasMissing = false;
    else if (this.wasMissing) this.aim(decision.target);
    else {
      this.wasMissing = true;
      this.parts.clock.after(1_000, () => this.plan());
    }
  }

  private aim(target: string): void {
    this.announced = target;
    this.wasMissing = false;
    void retarget(this.parts.temporal, this.pool, target, this.versions()).then((answer) => {
      if (answer.ok) return;
      this.announced = undefined;
      this.parts.clock.after(2_000, () => this.plan());
    });
  }

  private wake(news: ClusterNews): boolean {
    return this.parts.temporal.signal(poolRolloutId(this.pool), 'clusterChanged', news);
  }

  private versions(): PictureVersions {
    const { nodes, pools } = this.parts.cluster.watch;
    // Whoever looks has policies of no version.
    return { nodes: nodes.newest, pools: pools.newest, policies: 0 };
  }

  private isOpen(): boolean {
    return this.parts.temporal.isRunning(poolRolloutId(this.pool));
  }
}

/** @param versions - absent = a person does it */
function retarget(
  temporal: TemporalModel,
  pool: string,
  config: string,
  versions?: PictureVersions,
): Promise<UpdateAnswer> {
  const id = poolRolloutId(pool);
  temporal.start('poolRollout', id, { pool });
  const seenIn = versions === undefined ? {} : { versions };
  return temporal.update(id, 'retarget', { config, ...seenIn });
}
