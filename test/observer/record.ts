/**
 * Bookkeeping over the events of the API server. Shares no code with the product's decisions,
 * because the product is judged by it.
 */

import { fewNames } from '../../core/few';
import { Boots } from './boots';
import { Cordons, isPersonsCordon, isWithoutMark } from './cordons';
import { Down, isDown, isTaken } from './down';
import type {
  NodeChange,
  ObservedNode,
  ObservedPod,
  ObservedRollout,
  ObservedStatus,
} from './observed';
import type { Fault, Violation } from './violation';
import { describeViolation } from './violation';

/** At every instant. */
export interface Limits {
  /** Undefined = only recorded. */
  readonly maxUnavailable?: number;
  /** By app. */
  readonly minAvailable?: Readonly<Record<string, number>>;
}

export const CORDONED_BY = 'slipway.dev/cordoned-by';
/** Key of the taint of a node that will be drained. */
export const UPDATE_TAINT = 'UpdateInProgress';
/**
 * There is a finding for each node over the limit: with all names, thousands of nodes would fill
 * the memory.
 */
const MOST_NAMES = 10;
const SHARED_NAMES = ['machineconfiguration.openshift.io/', 'slipway.dev/'];
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';
const CONTROL_PLANE = ['control-plane', 'master'].map((role) => `node-role.kubernetes.io/${role}`);
/** Set by the API server when it has granted an eviction. */
const EVICTED = 'EvictionByEvictionAPI';

export class RolloutRecord {
  readonly found: Violation[] = [];
  readonly changes: NodeChange[] = [];
  evictions = 0;
  readonly #nodes = new Map<string, ObservedNode>();
  readonly #pods = new Map<string, ObservedPod>();
  readonly #pools = new Map<string, ObservedStatus>();
  readonly #machineConfigNodes = new Map<string, ObservedStatus>();
  readonly #rollouts = new Map<string, ObservedRollout>();
  readonly #down = new Down();
  readonly #started = new Set<string>();
  readonly #lowestHealthy = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #boots = new Boots();
  readonly #cordons = new Cordons();
  /** By the version of a Node that they wrote. */
  readonly #writers = new Map<string, string>();
  #maxUnavailable = 0;

  constructor(private readonly limits: Limits) {}

  /** One line each. */
  get violations(): readonly string[] {
    return this.found.map(describeViolation);
  }

  /** Cordoned or not Ready, at one instant. */
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

  get rollouts(): readonly ObservedRollout[] {
    return [...this.#rollouts.values()];
  }

  rollout(pool: string): ObservedRollout | undefined {
    return this.#rollouts.get(pool);
  }

  /** Undefined = another writer, or not known. */
  writerOf(version: string): string | undefined {
    return this.#writers.get(version);
  }

  /** Slipway's user who left a cordon without a mark. */
  cordonLeftBy(node: string): string | undefined {
    return this.#cordons.leftBy(node, (version) => this.writerOf(version));
  }

  /** Since the app first had all it needs. */
  lowestHealthy(app: string): number | undefined {
    return this.#lowestHealthy.get(app);
  }

  /** With the record up to date. @returns how to stop that */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  nodeSeen(node: ObservedNode, atMs: number): void {
    const previous = this.#nodes.get(node.name);
    this.#nodes.set(node.name, node);
    this.changes.push({ atMs, node, previous });
    this.#cordons.seen(node, previous);
    this.#down.seen(node, atMs);
    this.#maxUnavailable = Math.max(this.#maxUnavailable, this.nodes.filter(isDown).length);
    if (previous !== undefined) {
      if (isTaken(node, previous)) this.#checkTaken(node, atMs);
      this.#checkChange({ node, previous, atMs });
    }
    this.#tell();
  }

  nodeGone(name: string): void {
    this.#nodes.delete(name);
    this.#down.gone(name);
    this.#tell();
  }

  podSeen(key: string, pod: ObservedPod): void {
    const previous = this.#pods.get(key);
    this.#pods.set(key, pod);
    if (pod.ready) this.#started.add(key);
    if (pod.terminating && previous?.terminating !== true) this.#checkRemoval(pod);
    this.#checkHealthy(pod.app);
    this.#tell();
  }

  podGone(key: string): void {
    const pod = this.#pods.get(key);
    this.#pods.delete(key);
    this.#started.delete(key);
    if (pod !== undefined) this.#checkHealthy(pod.app);
    this.#tell();
  }

  poolSeen(pool: ObservedStatus): void {
    this.#pools.set(pool.name, pool);
    this.#tell();
  }

  poolGone(name: string): void {
    this.#pools.delete(name);
    this.#tell();
  }

  machineConfigNodeSeen(status: ObservedStatus): void {
    this.#machineConfigNodes.set(status.name, status);
    this.#tell();
  }

  machineConfigNodeGone(name: string): void {
    this.#machineConfigNodes.delete(name);
    this.#tell();
  }

  rolloutSeen(rollout: ObservedRollout, atMs: number): void {
    const before = this.#rollouts.get(rollout.name)?.grants ?? [];
    this.#rollouts.set(rollout.name, rollout);
    this.#checkGrants(rollout, new Set(before.map(({ run }) => run)), atMs);
    this.#tell();
  }

  rolloutGone(name: string): void {
    this.#rollouts.delete(name);
    this.#tell();
  }

  /** From the audit log. */
  nodeWritten(version: string, user: string): void {
    this.#writers.set(version, user);
  }

  /** For findings of audit log, Temporal and disks. */
  report(invariant: Fault, subject: string, what: string, atMs = Date.now()): void {
    this.found.push({ invariant, subject, atMs, text: `${subject}: ${what}` });
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** etcd must keep its majority, too, whatever a pool says. */
  #checkTaken(node: ObservedNode, atMs: number): void {
    const counted = this.nodes.filter((other) => isDown(other) && this.#down.counts(other, atMs));
    const { maxUnavailable: limit } = this.limits;
    if (limit !== undefined && counted.length > limit) {
      const what = `${counted.length} nodes unavailable, ${limit} allowed`;
      this.report('I1', node.name, `${what}: ${someNames(counted)}`, atMs);
    }
    if (!isOfControlPlane(node)) return;
    const total = this.nodes.filter(isOfControlPlane).length;
    const down = counted.filter(isOfControlPlane);
    const allowed = Math.max(1, Math.ceil(total / 2) - 1);
    if (down.length <= allowed) return;
    const what = `${down.length} of ${total} control-plane nodes unavailable, ${allowed} allowed`;
    this.report('I1', node.name, `${what}: ${someNames(down)}`, atMs);
  }

  /** A node that was out of service before its grant costs no room. */
  #checkGrants({ name, grants }: ObservedRollout, before: ReadonlySet<string>, atMs: number): void {
    const { maxUnavailable: limit } = this.limits;
    const taking = grants.filter(({ node, serves }) => !serves && this.#nodes.has(node));
    if (limit === undefined || taking.length <= limit) return;
    const isNew = taking.some(({ node, run }) => !before.has(run) && this.#served(node, atMs));
    if (!isNew) return;
    const nodes = fewNames(
      taking.map(({ node }) => node),
      { most: MOST_NAMES },
    );
    const what = `${taking.length} grants to go out of service, ${limit} allowed`;
    this.report('I1', name, `${what}: ${nodes}`, atMs);
  }

  #served(name: string, atMs: number): boolean {
    const node = this.#nodes.get(name);
    return node !== undefined && !isDown(node) && this.#down.servedLong(name, atMs);
  }

  #checkChange(change: NodeChange & { readonly previous: ObservedNode }): void {
    const { node, previous, atMs } = change;
    const cordon = whatHappenedToCordon(node, previous);
    if (cordon !== undefined) this.report('I3', node.name, cordon, atMs);
    for (const wrong of this.#boots.seen(node, previous)) {
      this.report('I5', node.name, wrong, atMs);
    }
    const before = previous.annotations[CURRENT_CONFIG];
    const after = node.annotations[CURRENT_CONFIG];
    if (before !== after && after !== undefined && !node.ready) {
      this.report('I7', node.name, `currentConfig became ${after} while it was not Ready`, atMs);
    }
  }

  /** Nobody scales these pods, so only an eviction may remove one. */
  #checkRemoval(pod: ObservedPod): void {
    if (pod.disruption === EVICTED) this.evictions += 1;
    else this.report('I3', `pod ${pod.name}`, 'it was removed, and not by an eviction');
  }

  #checkHealthy(app: string): void {
    const wanted = this.limits.minAvailable?.[app];
    if (wanted === undefined) return;
    const serving = [...this.#pods].filter(
      ([key, pod]) => pod.app === app && this.#serves(key, pod),
    );
    const ready = serving.length;
    const lowest = this.#lowestHealthy.get(app);
    // Once the workload has come up.
    if (lowest === undefined) {
      if (ready >= wanted) this.#lowestHealthy.set(app, ready);
      return;
    }
    this.#lowestHealthy.set(app, Math.min(lowest, ready));
    if (ready < wanted) {
      this.report('I3', app, `${ready} pods ready, its budget wants ${wanted}`);
    }
  }

  /**
   * The controller manager learns of a node's Ready up to five seconds late, and until then calls
   * new pods on it not Ready. Nobody has removed such a pod. A pod on a node that is down does not
   * serve.
   */
  #serves(key: string, pod: ObservedPod): boolean {
    if (pod.ready) return true;
    return this.#started.has(key) && !pod.terminating && this.#nodes.get(pod.node)?.ready === true;
  }
}

function isOfControlPlane({ labels }: ObservedNode): boolean {
  return CONTROL_PLANE.some((label) => Object.hasOwn(labels, label));
}

/** A person who removes a cordon writes nothing else in the same moment; Slipway does. */
function whatHappenedToCordon(node: ObservedNode, previous: ObservedNode): string | undefined {
  if (!isPersonsCordon(previous)) return undefined;
  if (node.unschedulable) {
    const isTaken = isWithoutMark(previous) && !isWithoutMark(node);
    return isTaken ? "a person's cordon was taken over" : undefined;
  }
  return JSON.stringify(ours(node)) === JSON.stringify(ours(previous))
    ? undefined
    : "a person's cordon was removed by who updates the node";
}

function ours({ annotations }: ObservedNode): readonly (readonly [string, string])[] {
  return Object.entries(annotations)
    .filter(([name]) => SHARED_NAMES.some((prefix) => name.startsWith(prefix)))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function someNames(nodes: readonly ObservedNode[]): string {
  return fewNames(
    nodes.map(({ name }) => name),
    { most: MOST_NAMES },
  );
}
