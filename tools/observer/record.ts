/**
 * What an outsider saw of a rollout: pure bookkeeping over the events of the API server. Shares no
 * code with the product's decisions, on purpose: it is what the product is judged by.
 */

/** A Node as far as an outsider can judge it. */
export interface ObservedNode {
  readonly name: string;
  readonly unschedulable: boolean;
  readonly ready: boolean;
  readonly bootID: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** One change of one node, with the time at which the watch delivered it (ms since the epoch). */
export interface NodeChange {
  readonly atMs: number;
  readonly node: ObservedNode;
  readonly previous: ObservedNode | undefined;
}

/** A pod that belongs to a workload under a budget. */
export interface ObservedPod {
  readonly name: string;
  readonly app: string;
  /** Node on which it is; empty = not scheduled yet. */
  readonly node: string;
  readonly ready: boolean;
  readonly terminating: boolean;
  /** Reason of its DisruptionTarget condition: who decided that it goes. */
  readonly disruption?: string;
}

/** A condition of a pool or of a MachineConfigNode. */
export interface ObservedCondition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** A MachineConfigPool or a MachineConfigNode: a target and conditions by type. */
export interface ObservedStatus {
  readonly name: string;
  /** Rendered config that it should be on; empty = none yet. */
  readonly target: string;
  readonly paused: boolean;
  readonly conditions: Readonly<Record<string, ObservedCondition>>;
}

/** What must hold at every instant. */
export interface Limits {
  /** Nodes that may be unavailable at once; undefined = only recorded. */
  readonly maxUnavailable?: number;
  /** Pods of an app that must be ready at every instant. */
  readonly minAvailable?: Readonly<Record<string, number>>;
}

const CORDONED_BY = 'slipway.dev/cordoned-by';
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';
/** Set by the API server on a pod whose eviction it has granted. */
const EVICTED = 'EvictionByEvictionAPI';

/** Everything that was seen, and what of it must not have happened. */
export class RolloutRecord {
  readonly violations: string[] = [];
  readonly changes: NodeChange[] = [];
  /** Pods whose removal was granted as an eviction. */
  evictions = 0;
  readonly #nodes = new Map<string, ObservedNode>();
  readonly #pods = new Map<string, ObservedPod>();
  readonly #pools = new Map<string, ObservedStatus>();
  readonly #machineConfigNodes = new Map<string, ObservedStatus>();
  readonly #lowestHealthy = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #maxUnavailable = 0;

  constructor(private readonly limits: Limits) {}

  /** The most nodes that were unavailable (cordoned or not Ready) at one instant. */
  get maxUnavailableSeen(): number {
    return this.#maxUnavailable;
  }

  get nodes(): readonly ObservedNode[] {
    return [...this.#nodes.values()];
  }

  get pods(): readonly ObservedPod[] {
    return [...this.#pods.values()];
  }

  get pools(): readonly ObservedStatus[] {
    return [...this.#pools.values()];
  }

  node(name: string): ObservedNode | undefined {
    return this.#nodes.get(name);
  }

  pool(name: string): ObservedStatus | undefined {
    return this.#pools.get(name);
  }

  machineConfigNode(name: string): ObservedStatus | undefined {
    return this.#machineConfigNodes.get(name);
  }

  /** The fewest ready pods of an app at any instant since it first had all it needs. */
  lowestHealthy(app: string): number | undefined {
    return this.#lowestHealthy.get(app);
  }

  /** Calls back after each event, with the record up to date. @returns how to stop that */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  nodeSeen(node: ObservedNode, atMs: number): void {
    const previous = this.#nodes.get(node.name);
    this.#nodes.set(node.name, node);
    this.changes.push({ atMs, node, previous });
    this.#checkUnavailable(node, atMs);
    if (previous !== undefined) this.#checkChange(node, previous);
    this.#tell();
  }

  nodeGone(name: string): void {
    this.#nodes.delete(name);
    this.#tell();
  }

  podSeen(key: string, pod: ObservedPod): void {
    const previous = this.#pods.get(key);
    this.#pods.set(key, pod);
    if (pod.terminating && previous?.terminating !== true) this.#checkRemoval(pod);
    this.#checkHealthy(pod.app);
    this.#tell();
  }

  podGone(key: string): void {
    const pod = this.#pods.get(key);
    this.#pods.delete(key);
    if (pod !== undefined) this.#checkHealthy(pod.app);
    this.#tell();
  }

  poolSeen(pool: ObservedStatus): void {
    this.#pools.set(pool.name, pool);
    this.#tell();
  }

  machineConfigNodeSeen(status: ObservedStatus): void {
    this.#machineConfigNodes.set(status.name, status);
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #checkUnavailable(node: ObservedNode, atMs: number): void {
    const down = this.nodes.filter((candidate) => candidate.unschedulable || !candidate.ready);
    this.#maxUnavailable = Math.max(this.#maxUnavailable, down.length);
    const limit = this.limits.maxUnavailable;
    if (limit === undefined || down.length <= limit) return;
    this.violations.push(
      `${new Date(atMs).toISOString()} ${down.length} nodes unavailable, ${limit} allowed, ` +
        `after a change of ${node.name}: ${down.map((candidate) => candidate.name).join(', ')}`,
    );
  }

  #checkChange(node: ObservedNode, previous: ObservedNode): void {
    const byPerson = previous.unschedulable && previous.annotations[CORDONED_BY] === undefined;
    if (byPerson && node.unschedulable && node.annotations[CORDONED_BY] !== undefined) {
      this.violations.push(`${node.name}: a person's cordon was taken over`);
    }
    const before = previous.annotations[CURRENT_CONFIG];
    const after = node.annotations[CURRENT_CONFIG];
    if (before !== after && after !== undefined && !node.ready) {
      this.violations.push(`${node.name}: currentConfig became ${after} while it was not Ready`);
    }
  }

  /** Pods of these workloads are scaled by nobody, so only an eviction may take one away. */
  #checkRemoval(pod: ObservedPod): void {
    if (pod.disruption === EVICTED) this.evictions += 1;
    else this.violations.push(`pod ${pod.name} was removed, and not by an eviction`);
  }

  #checkHealthy(app: string): void {
    const wanted = this.limits.minAvailable?.[app];
    if (wanted === undefined) return;
    const ready = this.pods.filter((pod) => pod.app === app && pod.ready).length;
    const lowest = this.#lowestHealthy.get(app);
    // Counting starts when the workload has come up.
    if (lowest === undefined) {
      if (ready >= wanted) this.#lowestHealthy.set(app, ready);
      return;
    }
    this.#lowestHealthy.set(app, Math.min(lowest, ready));
    if (ready < wanted) {
      this.violations.push(`${app}: ${ready} pods ready, its budget wants ${wanted}`);
    }
  }
}
