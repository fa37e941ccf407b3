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
  readonly ready: boolean;
  readonly terminating: boolean;
}

const CORDONED_BY = 'slipway.dev/cordoned-by';
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';

/** Everything that was seen, and what of it must not have happened. */
export class RolloutRecord {
  readonly violations: string[] = [];
  readonly changes: NodeChange[] = [];
  readonly #nodes = new Map<string, ObservedNode>();
  readonly #pods = new Map<string, ObservedPod>();
  readonly #lowestHealthy = new Map<string, number>();
  #maxUnavailable = 0;

  constructor(
    private readonly limits: {
      /** Nodes that may be unavailable at once; undefined = only recorded. */
      readonly maxUnavailable?: number;
      /** Pods of an app that must be ready at every instant. */
      readonly minAvailable?: Readonly<Record<string, number>>;
    },
  ) {}

  /** The most nodes that were unavailable (cordoned or not Ready) at one instant. */
  get maxUnavailableSeen(): number {
    return this.#maxUnavailable;
  }

  get nodes(): readonly ObservedNode[] {
    return [...this.#nodes.values()];
  }

  /** The fewest ready pods of an app at any instant since it first had all it needs. */
  lowestHealthy(app: string): number | undefined {
    return this.#lowestHealthy.get(app);
  }

  nodeSeen(node: ObservedNode, atMs: number): void {
    const previous = this.#nodes.get(node.name);
    this.#nodes.set(node.name, node);
    this.changes.push({ atMs, node, previous });
    this.#checkUnavailable(node, atMs);
    if (previous !== undefined) this.#checkChange(node, previous);
  }

  nodeGone(name: string): void {
    this.#nodes.delete(name);
  }

  podSeen(key: string, pod: ObservedPod): void {
    this.#pods.set(key, pod);
    this.#checkHealthy(pod.app);
  }

  podGone(key: string): void {
    const pod = this.#pods.get(key);
    this.#pods.delete(key);
    if (pod !== undefined) this.#checkHealthy(pod.app);
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
    if (byPerson && !node.unschedulable) {
      this.violations.push(`${node.name}: a person's cordon was removed`);
    }
    const before = previous.annotations[CURRENT_CONFIG];
    const after = node.annotations[CURRENT_CONFIG];
    if (before !== after && after !== undefined && !node.ready) {
      this.violations.push(`${node.name}: currentConfig became ${after} while it was not Ready`);
    }
  }

  #checkHealthy(app: string): void {
    const wanted = this.limits.minAvailable?.[app];
    if (wanted === undefined) return;
    const ready = [...this.#pods.values()].filter((pod) => pod.app === app && pod.ready).length;
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
