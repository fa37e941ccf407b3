/**
 * The API server of a simulated cluster: Nodes, MachineConfigNodes, pools, PoolRollouts, policies, and
 * the watch through which everybody else sees them, a little late and in order.
 */

import { fail } from '../../../core/errors';
import { FIELD_MANAGER } from '../../../core/names';
import type { MachineConfigNode, ManagedFields, Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicySpec } from '../../../core/pool/types';
import type { PoolRollout, PoolRolloutStatus } from '../../../core/rollout/pool-rollout';
import type { DatedLookup, NodeChange } from '../../../activities/cluster/ports';
import type { Chance, VirtualClock } from '../clock';

/** Who writes. The observer judges only what the product does. */
type Writer = 'slipway' | 'kubelet' | 'person';

export interface NodeWrite {
  readonly before: Node | undefined;
  readonly after: Node | undefined;
  readonly by: Writer;
}

/** The product promises nothing for a watch that is further behind than five seconds. */
export const LONGEST_LAG_MS = 3_000;
const USUAL_LAG_MS = 100;
/** Of a worker that has much to do. */
const SLOW_LAG_MS = 2_000;

export interface RolloutWrite {
  readonly pool: string;
  readonly before: PoolRolloutStatus | undefined;
  readonly after: PoolRolloutStatus | undefined;
  readonly by: Writer;
}

export class Cluster {
  readonly nodes = new Map<string, Node>();
  readonly machineConfigNodes = new Map<string, MachineConfigNode>();
  readonly poolRollouts = new Map<string, PoolRollout>();
  /** What the controllers see. */
  readonly watch: Picture;
  /** What each cluster worker sees. */
  readonly pictures: readonly Picture[];
  /** Nodes of machines that joined by themselves in the middle. */
  readonly joined = new Set<string>();
  readonly pools = new Map<string, MachineConfigPool>();
  /** By pool. */
  readonly policies = new Map<string, RolloutPolicySpec>();
  onWrite: (write: NodeWrite) => void = () => undefined;
  onRolloutWrite: (write: RolloutWrite) => void = () => undefined;
  /** An admission policy refuses every write of a pool. */
  refusesPools = false;
  /** Nobody may read rendered configs. */
  forbidsConfigs = false;
  private version = 1;
  private awaySince: number | undefined;
  /** What kubelets have to report when the API server is back. */
  private readonly unreported = new Map<string, () => void>();

  /** @param slow - the second cluster worker has much to do */
  constructor(
    private readonly clock: VirtualClock,
    chance: Chance,
    initial: readonly { readonly pool: MachineConfigPool; readonly policy: RolloutPolicySpec }[],
    slow = false,
  ) {
    const seenBy = (usualLagMs: number): Picture => {
      const own = chance.fork();
      const watch = <T extends Shown>() =>
        new Watch<T>(clock, own, usualLagMs, () => this.awaySince);
      return {
        ...{ nodes: watch(), machineConfigNodes: watch() },
        ...{ pools: watch(), poolRollouts: watch() },
      };
    };
    this.watch = seenBy(USUAL_LAG_MS);
    this.pictures = [seenBy(USUAL_LAG_MS), seenBy(slow ? SLOW_LAG_MS : USUAL_LAG_MS)];
    for (const { pool, policy } of initial) {
      const { name } = pool.metadata;
      this.pools.set(name, pool);
      this.policies.set(name, policy);
      for (const { pools } of this.all) pools.showAtOnce(name, pool, 1);
    }
  }

  /** While the API server is away every request fails, and every watch is silent. */
  get isAway(): boolean {
    return this.awaySince !== undefined;
  }

  set isAway(isAway: boolean) {
    if (isAway === this.isAway) return;
    this.awaySince = isAway ? this.clock.now : undefined;
    if (isAway) return;
    const reports = [...this.unreported.values()];
    this.unreported.clear();
    for (const report of reports) report();
    for (const { nodes, machineConfigNodes, pools, poolRollouts } of this.all) {
      for (const watch of [nodes, machineConfigNodes, pools, poolRollouts]) watch.resumed();
    }
  }

  addNode(node: Node, isThereFromTheStart = false): void {
    const { name } = node.metadata;
    const added = this.numbered(node);
    this.nodes.set(name, added);
    if (isThereFromTheStart) {
      for (const { nodes } of this.all) nodes.showAtOnce(name, added, this.version);
    } else {
      this.showNode(name, added);
      this.onWrite({ before: undefined, after: added, by: 'person' });
    }
  }

  removeNode(name: string): void {
    const before = this.nodes.get(name);
    this.nodes.delete(name);
    this.machineConfigNodes.delete(name);
    this.version += 1;
    this.showNode(name, undefined);
    this.showMachineConfigNode(name, undefined);
    this.onWrite({ before, after: undefined, by: 'person' });
  }

  /** @throws `ObjectNotFound` */
  node(name: string): Node {
    const node = this.nodes.get(name);
    if (node === undefined) throw fail('ObjectNotFound', `node ${name} does not exist`);
    return node;
  }

  /**
   * @param lagMs - after which it is shown; absent = drawn
   * @throws `ObjectNotFound`
   */
  changeNode(name: string, change: NodeChange, by: Writer, lagMs?: number): Node {
    const node = this.node(name);
    const annotations = { ...node.metadata.annotations };
    for (const [key, value] of Object.entries(change.annotations ?? {})) {
      if (value === null) delete annotations[key];
      else annotations[key] = value;
    }
    const { unschedulable, taints } = change;
    return this.replaceNode(
      {
        ...node,
        metadata: { ...node.metadata, annotations, managedFields: managedFields(node, change, by) },
        spec: {
          ...node.spec,
          ...(unschedulable === undefined ? {} : { unschedulable }),
          ...(taints === undefined ? {} : { taints }),
        },
      },
      by,
      lagMs,
    );
  }

  /** What a kubelet reports; a Node that is gone stays gone. */
  reportStatus(name: string, ready: boolean, bootID: string): void {
    if (this.isAway) {
      this.unreported.set(name, () => this.reportStatus(name, ready, bootID));
      return;
    }
    const node = this.nodes.get(name);
    if (node === undefined) return;
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    this.replaceNode({ ...node, status: { conditions, nodeInfo: { bootID } } }, 'kubelet');
  }

  writeMachineConfigNode(written: MachineConfigNode): MachineConfigNode {
    const numbered = this.numbered(written);
    const { name } = written.metadata;
    this.machineConfigNodes.set(name, numbered);
    this.showMachineConfigNode(name, numbered);
    return numbered;
  }

  /** @throws `Conflict` */
  createRollout({ name, uid }: { readonly name: string; readonly uid: string }): PoolRollout {
    if (this.poolRollouts.has(name)) throw fail('Conflict', `poolrollout ${name} is there`);
    const owner = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfigPool' };
    const ownerReferences = [{ ...owner, name, uid }];
    return this.putRollout({ metadata: { name, ownerReferences } }, 'slipway');
  }

  /** @throws `ObjectNotFound`, `Conflict` */
  writeRollout(rollout: PoolRollout, status: PoolRolloutStatus, by: Writer): PoolRollout {
    this.refuseOtherRollout(rollout);
    return this.putRollout({ ...rollout, status }, by);
  }

  /** @throws `ObjectNotFound`, `Conflict` */
  deleteRollout(rollout: PoolRollout, by: Writer): void {
    this.refuseOtherRollout(rollout);
    const pool = rollout.metadata.name;
    this.poolRollouts.delete(pool);
    this.version += 1;
    for (const picture of this.all) picture.poolRollouts.show(pool, undefined, this.version);
    this.onRolloutWrite({ pool, before: rollout.status, after: undefined, by });
  }

  private refuseOtherRollout({ metadata: { name, resourceVersion } }: PoolRollout): void {
    const known = this.poolRollouts.get(name);
    if (known === undefined) throw fail('ObjectNotFound', `no poolrollout ${name}`);
    if (known.metadata.resourceVersion === resourceVersion) return;
    throw fail('Conflict', `poolrollout ${name} has changed`);
  }

  private putRollout(written: PoolRollout, by: Writer): PoolRollout {
    const pool = written.metadata.name;
    const before = this.poolRollouts.get(pool)?.status;
    const numbered = this.numbered(written);
    this.poolRollouts.set(pool, numbered);
    for (const picture of this.all) picture.poolRollouts.show(pool, numbered, this.version);
    this.onRolloutWrite({ pool, before, after: numbered.status, by });
    return numbered;
  }

  /** @throws `ObjectNotFound` */
  machineConfigNode(name: string): MachineConfigNode {
    const known = this.machineConfigNodes.get(name);
    if (known === undefined) throw fail('ObjectNotFound', `no machineconfignode ${name}`);
    return known;
  }

  pool(name: string): MachineConfigPool {
    const pool = this.pools.get(name);
    if (pool === undefined) throw new Error(`no pool ${name}`);
    return pool;
  }

  policy(pool: string): RolloutPolicySpec {
    return this.policies.get(pool) ?? {};
  }

  changePool(name: string, change: (pool: MachineConfigPool) => MachineConfigPool): void {
    const changed = this.numbered(change(this.pool(name)));
    this.pools.set(name, changed);
    for (const { pools } of this.all) pools.show(name, changed, this.version);
  }

  /** A person gives the node other labels, in one write. */
  relabel(name: string, labels: Readonly<Record<string, string>>): void {
    const node = this.node(name);
    this.replaceNode({ ...node, metadata: { ...node.metadata, labels } }, 'person');
  }

  private replaceNode(node: Node, by: Writer, lagMs?: number): Node {
    const { name } = node.metadata;
    const before = this.nodes.get(name);
    const after = this.numbered(node);
    this.nodes.set(name, after);
    this.showNode(name, after, lagMs);
    this.onWrite({ before, after, by });
    return after;
  }

  private showNode(name: string, node: Node | undefined, lagMs?: number): void {
    for (const { nodes } of this.all) nodes.show(name, node, this.version, lagMs);
  }

  private showMachineConfigNode(name: string, shown: MachineConfigNode | undefined): void {
    for (const { machineConfigNodes } of this.all)
      machineConfigNodes.show(name, shown, this.version);
  }

  private get all(): readonly Picture[] {
    return [this.watch, ...this.pictures];
  }

  private numbered<T extends { readonly metadata: object }>(object: T): T {
    this.version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
  }
}

/** Who sets a field that was another owns it; nobody owns one that is not set. */
function managedFields(
  { metadata, spec }: Node,
  { unschedulable }: NodeChange,
  by: Writer,
): readonly ManagedFields[] {
  if (unschedulable === undefined || unschedulable === (spec?.unschedulable ?? false)) {
    return metadata.managedFields ?? [];
  }
  const manager = by === 'slipway' ? FIELD_MANAGER.CLUSTER_WORKER : by;
  return unschedulable ? [{ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } }] : [];
}

/** The cluster as one process sees it. */
export interface Picture {
  readonly nodes: Watch<Node>;
  readonly machineConfigNodes: Watch<MachineConfigNode>;
  readonly pools: Watch<MachineConfigPool>;
  readonly poolRollouts: Watch<PoolRollout>;
}

interface Shown {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
}

interface Change<T> {
  readonly previous?: T;
  readonly current?: T;
}

type Listener<T> = (event: { readonly object: T }) => void;

/** A watch-fed picture: everything arrives, in order, late. While the API server is away, nothing does. */
class Watch<T extends Shown> implements DatedLookup<T> {
  readonly synced = Promise.resolve();
  newest = 0;
  onChange: (change: Change<T>) => void = () => undefined;
  /** It is behind by so much more than it draws. */
  delayMs = 0;
  private deadSince: number | undefined;
  private readonly shown = new Map<string, T>();
  private readonly listeners = new Set<Listener<T>>();
  private all: readonly T[] | undefined;
  private lastAt = 0;
  /** Due while the API server is away. */
  private held: (() => void)[] = [];
  private waiting: { readonly version: number; readonly reached: () => void }[] = [];

  constructor(
    private readonly clock: VirtualClock,
    private readonly chance: Chance,
    private readonly usualLagMs: number,
    private readonly awaySince: () => number | undefined,
  ) {}

  get silentMs(): number {
    const since = this.deadSince ?? this.awaySince();
    return since === undefined ? 0 : this.clock.now - since;
  }

  /** Nothing comes through its connection, and requests are answered all the same. */
  set isDead(isDead: boolean) {
    this.deadSince = isDead ? this.clock.now : undefined;
    this.resumed();
  }

  get(name: string): T | undefined {
    return this.shown.get(name);
  }

  list(): readonly T[] {
    return (this.all ??= [...this.shown.values()]);
  }

  subscribe(listener: Listener<T>): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  reached(version: number, patienceMs: number): Promise<boolean> {
    if (version <= this.newest) return Promise.resolve(true);
    return new Promise((resolve) => {
      const given = this.clock.after(patienceMs, () => {
        resolve(false);
      });
      const reached = (): void => {
        given.cancel();
        resolve(true);
      };
      this.waiting.push({ version, reached });
    });
  }

  show(
    name: string,
    object: T | undefined,
    version: number,
    lagMs = this.chance.latency(this.usualLagMs, LONGEST_LAG_MS),
  ): void {
    const at = Math.max(this.lastAt, this.clock.now + this.delayMs + lagMs);
    this.lastAt = at;
    const show = (): void => this.showAtOnce(name, object, version);
    this.clock.after(at - this.clock.now, () => {
      if (this.isSilent()) this.held.push(show);
      else show();
    });
  }

  /** What was due meanwhile is shown, unless something else keeps it silent. */
  resumed(): void {
    if (!this.isSilent()) this.listed();
  }

  /** A list shows what is due, however silent the watch is. */
  listed(): void {
    for (const show of this.held.splice(0)) show();
  }

  private isSilent(): boolean {
    return this.deadSince !== undefined || this.awaySince() !== undefined;
  }

  showAtOnce(name: string, object: T | undefined, version: number): void {
    const previous = this.shown.get(name);
    if (object === undefined) this.shown.delete(name);
    else this.shown.set(name, object);
    this.all = undefined;
    this.showed(version);
    this.onChange({
      ...(previous === undefined ? {} : { previous }),
      ...(object === undefined ? {} : { current: object }),
    });
    const told = object ?? previous;
    if (told !== undefined) for (const listener of [...this.listeners]) listener({ object: told });
  }

  private showed(version: number): void {
    if (version <= this.newest) return;
    this.newest = version;
    const { waiting } = this;
    this.waiting = waiting.filter((one) => one.version > version);
    for (const one of waiting) if (one.version <= version) one.reached();
  }
}
