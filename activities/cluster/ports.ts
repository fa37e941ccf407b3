/** The ports of the cluster activities, in their own terms: nothing here knows HTTP. */

import type { MachineConfiguration } from '../../core/disruption/types';
import type { EvictionOutcome, Pod, PodDisruptionBudget } from '../../core/drain';
import type { MachineConfig } from '../../core/machine-config/types';
import type { MachineConfigNode, Node, NodeTaint } from '../../core/node/types';
import type { Condition, ObjectMeta } from '../../core/object-meta';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import type { OpenUpdate } from '../../core/rollout/picture';
import type { PoolRollout, PoolRolloutStatus } from '../../core/rollout/pool-rollout';
import type { UnwantedUpdate } from '../../core/rollout/running';
import type { SeenVersions } from '../../workflows/contracts/rollout';
import type { NodeUpdateInput } from '../../workflows/contracts/update';

/** A cache of one kind of object, fed by a watch. */
export interface Lookup<T> {
  /** Resolves at the first complete list. */
  readonly synced: Promise<void>;
  get(name: string, namespace?: string): T | undefined;
  list(): readonly T[];
  /** Returns a function that stops. */
  subscribe(listener: (event: { readonly object: T }) => void): () => void;
}

/** Versions of one kind of object grow, in all caches alike. */
export interface DatedLookup<T> extends Lookup<T> {
  readonly newest: number;
  /** Milliseconds since the API server's last sign: how old the cache may be. */
  readonly silentMs: number;
  /**
   * Waits until the cache is as new as this version.
   *
   * @returns false after `patienceMs`
   */
  reached(version: number, patienceMs: number): Promise<boolean>;
}

export interface ClusterView {
  readonly nodes: DatedLookup<Node>;
  readonly pools: DatedLookup<MachineConfigPool>;
  readonly machineConfigNodes: DatedLookup<MachineConfigNode>;
  readonly poolRollouts: Lookup<PoolRollout>;
  readonly policies: DatedLookup<RolloutPolicy>;
  readonly machineConfigurations: Lookup<MachineConfiguration>;
  readonly budgets: Lookup<PodDisruptionBudget>;
  readonly daemonSets: Lookup<{ readonly metadata: ObjectMeta }>;
}

/** For one PATCH. `null` removes an annotation. */
export interface NodeChange {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly unschedulable?: boolean;
  /** The whole list is written. */
  readonly taints?: readonly NodeTaint[];
}

interface NodeWriter {
  /**
   * Decides on the newest known Node and writes if it is unchanged; else reads it and decides
   * again. Without a change it reads the Node once and writes nothing.
   *
   * @param confirm - called before each write
   * @throws `ObjectNotFound`, `Conflict` when it stays contended, and the errors of `decide` and
   *   `confirm`
   */
  change(
    name: string,
    decide: (node: Node) => NodeChange | undefined,
    confirm?: () => Promise<void>,
  ): Promise<Node>;
  /** @throws `ObjectNotFound` */
  read(name: string): Promise<Node>;
  /** Lists all Nodes into the cache. @throws `ApiUnavailable` */
  refresh(): Promise<void>;
}

interface MachineConfigNodeStatus {
  readonly observedGeneration: number;
  readonly configVersion: { readonly desired: string; readonly current?: string };
  readonly conditions: readonly Condition[];
}

interface MachineConfigNodeWriter {
  /**
   * Creates or updates the spec; the object is deleted with its Node.
   *
   * @throws `Conflict` when the object has another resourceVersion than `unchangedSince`
   */
  applySpec(
    owner: { readonly name: string; readonly uid: string },
    spec: MachineConfigNode['spec'],
    unchangedSince?: string,
  ): Promise<MachineConfigNode>;
  /**
   * Writes annotations on an object that is there.
   *
   * @throws `ObjectNotFound`
   */
  annotate(name: string, annotations: Readonly<Record<string, string>>): Promise<MachineConfigNode>;
  /** @throws `ObjectNotFound` */
  read(name: string): Promise<MachineConfigNode>;
  /** @throws `Conflict` when the object has another resourceVersion than `unchangedSince` */
  applyStatus(
    name: string,
    status: MachineConfigNodeStatus,
    unchangedSince?: string,
  ): Promise<MachineConfigNode>;
}

/** For one PATCH. `null` removes an annotation. */
export interface PoolChange {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly paused?: boolean;
}

interface PoolWriter {
  /**
   * Reads the pool, decides, and writes if it is unchanged; else decides again. Without a change it
   * writes nothing.
   *
   * @returns the pool as it is now
   * @throws `ObjectNotFound`, `Conflict` when it stays contended, and the errors of `decide`
   */
  change(
    pool: string,
    decide: (pool: MachineConfigPool) => Promise<PoolChange | undefined>,
  ): Promise<MachineConfigPool>;
}

export interface PodPort {
  /**
   * Until the signal aborts: `listed` once, then changes by UID. A broken connection resumes, or
   * `listed` comes again. `failed` gets the reason of a retry; `heard` is called for each sign of
   * the server.
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
  /** Evicts exactly this pod, by UID. */
  evict(
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    options: { readonly gracePeriodSeconds?: number; readonly signal: AbortSignal },
  ): Promise<EvictionOutcome>;
}

export interface ConfigReader {
  /** @throws `ObjectNotFound` */
  read(name: string): Promise<MachineConfig>;
}

/** The PoolRollouts, read and written at the API server: caches are too old to give grants by. */
export interface PoolRolloutStore {
  /** Undefined = there is none. */
  read(pool: string): Promise<PoolRollout | undefined>;
  /** Owned by its pool, and gone with it. @throws `Conflict` when there is one by now */
  create(pool: { readonly name: string; readonly uid: string }): Promise<PoolRollout>;
  /** @throws `Conflict` when it is not this version any more */
  delete(rollout: PoolRollout): Promise<void>;
  /** @throws `Conflict` when it is not the version that was read, `ObjectNotFound` */
  writeStatus(rollout: PoolRollout, status: PoolRolloutStatus): Promise<PoolRollout>;
}

/** The updates of a pool, in Temporal. @throws (each) `TemporalUnavailable` */
export interface NodeUpdates {
  /** Those that are open, as far as visibility shows them by now. */
  listOpen(pool: string): Promise<readonly OpenUpdate[]>;
  /** Asked by its ID, so never behind. One that Temporal does not know is closed. */
  isClosed(node: string, run: string): Promise<boolean>;
  /** One that runs already goes on. @returns the run that goes on now */
  start(input: NodeUpdateInput): Promise<string>;
  /** One that has ended meanwhile is none to cancel. */
  cancel(update: UnwantedUpdate): Promise<void>;
}

/** Starts the rollout of a pool, or has it look again. Several words at once become one; a failure is only logged. */
export interface RolloutWaker {
  /** @param seen - what the next picture has to show */
  wake(pool: string, seen: SeenVersions): void;
}

/** Nothing waits for the write, and a failed one is only logged. */
interface EventQueue {
  onNode(about: { readonly name: string }, event: ClusterEvent): void;
  onPool(about: { readonly name: string; readonly uid: string }, event: ClusterEvent): void;
}

export interface ClusterEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** One attempt of one activity, as the SDK runs it. */
export interface ActivityRun {
  /** Aborts on cancellation and worker shutdown; its reason is the error to throw. */
  readonly signal: AbortSignal;
  readonly lastHeartbeat: unknown;
  /** When the first attempt was scheduled, ms since the epoch. */
  readonly scheduledAtMs: number;
  /**
   * Temporal's clock, ms since the epoch: when the attempt was scheduled, plus the time since it
   * began here. Deadlines are compared with it, because the worker's clock may be wrong.
   */
  readonly temporalNow: () => number;
  /** From 1. */
  readonly attempt: number;
  readonly attemptMs?: number;
  /**
   * Asks Temporal whether it still waits for this attempt. Not for local activities, which the
   * server does not know.
   *
   * @throws `TemporalUnavailable`
   */
  readonly isAwaited: () => Promise<boolean>;
  readonly log: ActivityLog;
  heartbeat(details: unknown): void;
}

interface ActivityLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
}

export interface ClusterPorts {
  readonly view: ClusterView;
  readonly nodes: NodeWriter;
  readonly machineConfigNodes: MachineConfigNodeWriter;
  readonly pools: PoolWriter;
  readonly pods: PodPort;
  readonly configs: ConfigReader;
  readonly nodeUpdates: NodeUpdates;
  readonly poolRollouts: PoolRolloutStore;
  readonly rollouts: RolloutWaker;
  readonly events: EventQueue;
  /** The attempt that calls; `activities/cluster/activity-run.ts` in a worker. */
  readonly run: () => ActivityRun;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
