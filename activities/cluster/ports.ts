/**
 * What the cluster activities need of the world, in their own nouns. `adapters/kube` and the workers
 * fit these by shape; nothing here knows of HTTP.
 */

import type { Pod, PodDisruptionBudget } from '../../core/drain';
import type { MachineConfig } from '../../core/machine-config/types';
import type { MachineConfigNode, Node, NodeTaint } from '../../core/node/types';
import type { Condition, ObjectMeta } from '../../core/object-meta';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';

/** A watch-fed picture of one kind of object: looking costs no request. */
export interface Lookup<T> {
  /** Resolves at the first complete picture. */
  readonly synced: Promise<void>;
  get(name: string, namespace?: string): T | undefined;
  list(): readonly T[];
  /** Calls back after every change; returns how to stop. */
  subscribe(listener: (event: { readonly object: T }) => void): () => void;
}

/** A picture that says how new it is. Versions of one kind of object grow, whoever reads them. */
export interface DatedLookup<T> extends Lookup<T> {
  /** The newest version that it shows. */
  readonly newest: number;
  /** For how many milliseconds the API server has said nothing: as old may it be. */
  readonly silentMs: number;
  /**
   * Waits until it shows everything up to this version, which another picture of the same kind has shown.
   *
   * @returns false when that takes longer than `patienceMs`
   */
  reached(version: number, patienceMs: number): Promise<boolean>;
}

/** `operator.openshift.io` MachineConfiguration: a person's disruption policies, unchecked. */
export interface DisruptionSource {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly nodeDisruptionPolicy?: unknown };
}

/** Everything that the activities look at. */
export interface ClusterView {
  readonly nodes: DatedLookup<Node>;
  readonly pools: DatedLookup<MachineConfigPool>;
  readonly machineConfigNodes: Lookup<MachineConfigNode>;
  readonly policies: DatedLookup<RolloutPolicy>;
  readonly machineConfigurations: Lookup<DisruptionSource>;
  readonly budgets: Lookup<PodDisruptionBudget>;
  readonly daemonSets: Lookup<{ readonly metadata: ObjectMeta }>;
}

/** The fields of a Node to change, all in one PATCH. `null` removes an annotation. */
export interface NodeChange {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly unschedulable?: boolean;
  /** All of them: the list is written whole. */
  readonly taints?: readonly NodeTaint[];
}

export interface NodeWriter {
  /**
   * Decides on the newest known Node and writes the change on the condition that nobody changed the
   * Node in between; else it is read and decided again. No change, no write, once the Node was read.
   *
   * @param confirm - asked before each write; whoever changes the Node after that makes the write conflict
   * @throws `ObjectNotFound`, `Conflict` when it stays contended, and whatever `decide` and `confirm` throw
   */
  change(
    name: string,
    decide: (node: Node) => NodeChange | undefined,
    confirm?: () => Promise<void>,
  ): Promise<Node>;
  /** The Node as the server has it now. @throws `ObjectNotFound` */
  read(name: string): Promise<Node>;
  /** Has the picture show every Node as the server has it now. @throws `ApiUnavailable` */
  refresh(): Promise<void>;
}

export interface MachineConfigNodeStatus {
  readonly observedGeneration: number;
  readonly configVersion: { readonly desired: string; readonly current?: string };
  readonly conditions: readonly Condition[];
}

export interface MachineConfigNodeWriter {
  /**
   * Creates or updates the spec; the object goes away with its Node.
   *
   * @throws `Conflict` when the object has another resourceVersion than `unchangedSince`
   */
  applySpec(
    owner: { readonly name: string; readonly uid: string },
    spec: MachineConfigNode['spec'],
    unchangedSince?: string,
  ): Promise<MachineConfigNode>;
  /** The object as the server has it now. @throws `ObjectNotFound` */
  read(name: string): Promise<MachineConfigNode>;
  /** @throws `Conflict` when the object has another resourceVersion than `unchangedSince` */
  applyStatus(
    name: string,
    status: MachineConfigNodeStatus,
    unchangedSince?: string,
  ): Promise<MachineConfigNode>;
}

/** The fields of a pool to change, all in one PATCH. `null` removes an annotation. */
export interface PoolChange {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly paused?: boolean;
}

export interface PoolWriter {
  /**
   * Reads the pool, decides, and writes the change on the condition that nobody has changed the pool
   * since it was read; else it is read and decided again. No change, no write.
   *
   * @throws `ObjectNotFound`, `Conflict` when it stays contended, and whatever `decide` throws
   */
  change(
    pool: string,
    decide: (pool: MachineConfigPool) => Promise<PoolChange | undefined>,
  ): Promise<void>;
}

/** How an eviction was answered. */
export type EvictionOutcome =
  /** Accepted; the pod is going. */
  | { readonly outcome: 'accepted' }
  /** No such pod any more, or another one of the same name. */
  | { readonly outcome: 'gone' }
  /** Its namespace is being deleted, and the pod with it. */
  | { readonly outcome: 'namespaceTerminating' }
  /** A budget or an admission policy refuses, or the server is busy; `said` is the API's own message. */
  | { readonly outcome: 'refused'; readonly said: string; readonly retryAfterSeconds?: number };

export interface PodPort {
  /**
   * Follows the pods of one node until the signal aborts: `listed` once, then changes by UID. A
   * broken connection resumes; `listed` comes again when it could not. `failed` tells what it is that is
   * tried again, `heard` that the server has said something, also when nothing has changed.
   */
  follow(
    node: string,
    handler: {
      listed(pods: readonly Pod[]): void;
      changed(pod: Pod, isGone: boolean): void;
      heard?(): void;
      failed?(reason: string): void;
    },
    signal: AbortSignal,
  ): Promise<void>;
  /** Asks one pod, this very one, to leave, through the Eviction API. */
  evict(
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    options: { readonly gracePeriodSeconds?: number; readonly signal: AbortSignal },
  ): Promise<EvictionOutcome>;
}

/** Rendered configs by name. */
export interface ConfigReader {
  /** @throws `ObjectNotFound` */
  read(name: string): Promise<MachineConfig>;
}

/** Which node updates are open, as Temporal knows it. */
export interface RunningUpdates {
  isRunning(node: string): Promise<boolean>;
  /** Whether this very run is the open update of the node. */
  isOpen(node: string, runId: string): Promise<boolean>;
  /** Names of the nodes of a pool with an open update. */
  ofPool(pool: string): Promise<readonly string[]>;
}

/** Kubernetes Events on a Node: nice to have, so a failed one is only logged. */
export interface EventWriter {
  onNode(
    node: { readonly name: string; readonly uid: string },
    event: {
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    },
  ): Promise<void>;
}

/** One attempt of one activity, as the SDK runs it. */
export interface ActivityRun {
  /** Aborts on cancellation and on worker shutdown; its reason is what to throw. */
  readonly signal: AbortSignal;
  /** What an earlier attempt reported last. */
  readonly lastHeartbeat: unknown;
  /** When the first attempt was scheduled, ms since the epoch. */
  readonly scheduledAtMs: number;
  /**
   * What Temporal's clock says, ms since the epoch, as far as this attempt can know: when it was scheduled, and the
   * time since it began here. Deadlines that a workflow has set are kept by it; the clock of the worker may be wrong,
   * and may be put right in the middle.
   */
  readonly temporalNow: () => number;
  /** How long an attempt may take before it is given up; absent = not known. */
  readonly attemptMs?: number;
  /**
   * Asks Temporal whether it still waits for this very attempt; one request. Not for local activities,
   * which it does not know.
   *
   * @throws `TemporalUnavailable`
   */
  readonly isAwaited: () => Promise<boolean>;
  readonly log: ActivityLog;
  heartbeat(details: unknown): void;
}

export interface ActivityLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
}

/** All that the cluster activities are made from. */
export interface ClusterPorts {
  readonly view: ClusterView;
  readonly nodes: NodeWriter;
  readonly machineConfigNodes: MachineConfigNodeWriter;
  readonly pools: PoolWriter;
  readonly pods: PodPort;
  readonly configs: ConfigReader;
  readonly updates: RunningUpdates;
  readonly events: EventWriter;
  /** The attempt that calls; `activities/cluster/activity-run.ts` in a worker. */
  readonly run: () => ActivityRun;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
