/**
 * The API server of a simulated cluster: Nodes, MachineConfigNodes, pools, their policies, and
 * the watch through which everybody else sees them, a little late and in order.
 */

import { fail } from '../../../core/errors';
import { FIELD_MANAGER } from '../../../core/names';
import type { MachineConfigNode, ManagedFields, Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicySpec } from '../../../core/pool/types';
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

export class Cluster {
  readonly nodes = new Map<string, Node>();
  readonly machineConfigNodes = new Map<string, MachineConfigNode>();
  /** What the controllers and the first cluster worker see. */
  readonly watch: Picture;
  /** What each cluster worker sees. */
  readonly pictures: readonly Picture[];
  /** Nodes of machines that joined by themselves in the middle. */
  readonly joined = new Set<string>();
  readonly pools = new Map<string, MachineConfigPool>();
  /** By pool. */
  readonly policies = new Map<string, RolloutPolicySpec>();
  onWrite: (write: NodeWrite) => void = () => undefined;
  /** While the API server is away every request fails. */
  isAway = false;
  /** An admission policy refuses every write of a pool. */
  refusesPools = false;
  /** Nobody may read rendered configs. */
  forbidsConfigs = false;
  private version = 1;

  constructor(
    clock: VirtualClock,
    chance: Chance,
    initial: readonly { readonly pool: MachineConfigPool; readonly policy: RolloutPolicySpec }[],
    /** Of a second cluster worker; absent = there is none. */
    ofSecond?: Chance,
  ) {
    this.watch = pictureOf(clock, chance, USUAL_LAG_MS);
    const second = ofSecond && pictureOf(clock, ofSecond, SLOW_LAG_MS);
    this.pictures = second === undefined ? [this.watch] : [this.watch, second];
    for (const { pool, policy } of initial) {
      const { name } = pool.metadata;
      this.pools.set(name, pool);
      this.policies.set(name, policy);
      for (const { pools } of this.pictures) pools.showAtOnce(name, pool);
    }
  }

  addNode(node: Node, isThereFromTheStart = false): void {
    const { name } = node.metadata;
    const added = this.numbered(node);
    this.nodes.set(name, added);
    if (isThereFromTheStart) {
      for (const { nodes } of this.pictures) nodes.showAtOnce(name, added);
    } else {
      this.showNode(name, added);
      this.onWrite({ before: undefined, after: added, by: 'person' });
    }
  }

  removeNode(name: string): void {
    const before = this.nodes.get(name);
    this.nodes.delete(name);
    this.machineConfigNodes.delete(name);
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
    for (const { pools } of this.pictures) pools.show(name, changed);
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
    for (const { nodes } of this.pictures) nodes.show(name, node, lagMs);
  }

  private showMachineConfigNode(name: string, shown: MachineConfigNode | undefined): void {
    for (const { machineConfigNodes } of this.pictures) machineConfigNodes.show(name, shown);
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
}

function pictureOf(clock: VirtualClock, chance: Chance, usualLagMs: number): Picture {
  const watch = <T extends Shown>() => new Watch<T>(clock, chance, usualLagMs);
  return { nodes: watch(), machineConfigNodes: watch(), pools: watch() };
}

interface Shown {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
}

type Change<T> = { readonly previous?: T; readonly current?: T };

/** A watch-fed picture: everything arrives, in order, late. */
class Watch<T extends Shown> implements DatedLookup<T> {
  readonly synced = Promise.resolve();
  newest = 0;
  /** A watch that says nothing is not modelled. */
  readonly silentMs = 0;
  onChange: (change: Change<T>) => void = () => undefined;
  /** It is behind by so much more than it draws. */
  delayMs = 0;
  private readonly shown = new Map<string, T>();
  private all: readonly T[] | undefined;
  private lastAt = 0;
  private waiting: { readonly version: number; readonly reached: () => void }[] = [];

  constructor(
    private readonly clock: VirtualClock,
    private readonly chance: Chance,
    private readonly usualLagMs: number,
  ) {}

  get(name: string): T | undefined {
    return this.shown.get(name);
  }

  list(): readonly T[] {
    return (this.all ??= [...this.shown.values()]);
  }

  subscribe(): () => void {
    return () => undefined;
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
    lagMs = this.chance.latency(this.usualLagMs, LONGEST_LAG_MS),
  ): void {
    const at = Math.max(this.lastAt, this.clock.now + this.delayMs + lagMs);
    this.lastAt = at;
    this.clock.after(at - this.clock.now, () => this.showAtOnce(name, object));
  }

  showAtOnce(name: string, object: T | undefined): void {
    const previous = this.shown.get(name);
    if (object === undefined) this.shown.delete(name);
    else this.shown.set(name, object);
    this.all = undefined;
    this.showed(Number(object?.metadata.resourceVersion ?? 0));
    this.onChange({
      ...(previous === undefined ? {} : { previous }),
      ...(object === undefined ? {} : { current: object }),
    });
  }

  private showed(version: number): void {
    if (version <= this.newest) return;
    this.newest = version;
    const { waiting } = this;
    this.waiting = waiting.filter((one) => one.version > version);
    for (const one of waiting) if (one.version <= version) one.reached();
  }
}
