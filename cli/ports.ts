/** Ports of the commands; `cli/connections.ts` makes the real ones. */

import type { Pod, PodDisruptionBudget } from '../core/drain';
import type { PolicyInForce } from '../core/disruption';
import type { JoinTokenRecord, StoredJoinToken } from '../core/join';
import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';
import type { OpenUpdate } from '../core/rollout/picture';
import type { PoolRollout } from '../core/rollout/pool-rollout';
import type { NodeRequest, StepResult } from '../workflows/contracts/rollout';
import type { NodeStatus } from '../workflows/contracts/update';
import type { DoctorCluster, DoctorTemporal } from './doctor/ports';
import type { Readable, Writable } from 'node:stream';
import type { KubeClient } from '../adapters/kube/client';
import type { CliOs } from './os/cluster-os';
import type { SupportTemporal } from './support/temporal';
import type { RunningStep } from './running-step';
import type { Terminal } from './terminal';

export interface ClusterView {
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  readonly machineConfigNodes: ReadonlyMap<string, MachineConfigNode>;
  /** By pool. */
  readonly poolRollouts: ReadonlyMap<string, PoolRollout>;
  readonly policies: readonly RolloutPolicy[];
}

interface CliJoinTokens {
  /** Throws `Conflict` when the ID is taken. */
  create(record: JoinTokenRecord): Promise<void>;
  /** Oldest first. */
  list(): Promise<readonly StoredJoinToken[]>;
  /** False when there is none. */
  revoke(id: string): Promise<boolean>;
  /** Expired long ago; returns their IDs. */
  prune(nowMs: number): Promise<readonly string[]>;
}

export interface ServerFacts {
  /** PEM: the bundle that Slipway publishes. */
  readonly serverCa?: string;
  /** JSON: the keys of orders that Slipway publishes. */
  readonly orderKeys?: string;
  /** PEM, of the ControllerConfig. */
  readonly rootCa?: string;
  /** Of the API and the server, inside the cluster's network. */
  readonly internalHost?: string;
}

/** The Kubernetes API. Throws `ObjectNotFound`, `ApiUnavailable`. */
export interface CliCluster {
  read(): Promise<ClusterView>;
  /** A person who lets machines in may read nothing else. */
  poolNames(): Promise<readonly string[]>;
  readonly joinTokens: CliJoinTokens;
  readonly os: CliOs;
  serverFacts(): Promise<ServerFacts>;
  machineConfig(name: string): Promise<MachineConfig>;
  /** As rollouts read it. */
  disruptionPolicy(): Promise<PolicyInForce>;
  pods(): Promise<readonly Pod[]>;
  budgets(): Promise<readonly PodDisruptionBudget[]>;
  /** `namespace/name` of every DaemonSet. */
  daemonSets(): Promise<readonly string[]>;
  /** Where no rollout runs. */
  setPaused(
    pool: string,
    paused: boolean,
    said: { readonly reason: string; readonly by?: string },
  ): Promise<void>;
  /** Follows what `read` reads; calls `onChange` with each new view. */
  follow(onChange: (view: ClusterView) => void, signal: AbortSignal): Promise<void>;
}

export interface RolloutRecord {
  readonly pool: string;
  readonly runId: string;
  readonly status: string;
  readonly config?: string;
  readonly startedAt: string;
  readonly endedAt?: string;
}

/** It is open, and answers nothing. */
export interface PausedInTemporal {
  /** A sentence that names the person, the reason, and the command to resume. */
  readonly pausedInTemporal: string;
}

export interface OpenRollout {
  readonly runId: string;
  /** What keeps it from its next look at the pool; absent = nothing does. */
  readonly blocker?: string;
}

export interface HostWorkerRecord {
  readonly identity: string;
  /** RFC 3339; at most a minute ago while the worker runs. */
  readonly askedAt: string;
  /** No machine is behind it. */
  readonly simulated?: true;
}

/** Temporal. A server or worker that does not answer is a `CliError` with code UNREACHABLE. */
export interface CliTemporal {
  /** Undefined when no rollout is open. */
  openRollout(pool: string): Promise<OpenRollout | PausedInTemporal | undefined>;
  /** The updates of a pool that have not ended, newest first; the list is a moment behind. */
  openUpdates(pool: string): Promise<readonly OpenUpdate[]>;
  nodeStatus(
    node: string,
  ): Promise<((NodeStatus | PausedInTemporal) & { readonly step?: RunningStep }) | undefined>;
  /** Undefined when no worker has polled in the last minutes. */
  hostWorker(node: string): Promise<HostWorkerRecord | undefined>;
  /** By node; nodes without a running step are left out. */
  steps(nodes: readonly string[]): Promise<ReadonlyMap<string, RunningStep>>;
  start(pool: string): Promise<StepResult>;
  /** Undefined when no rollout runs. */
  pause(pool: string, reason: string): Promise<StepResult | undefined>;
  resume(pool: string, reason: string): Promise<StepResult | undefined>;
  /** Where no rollout runs, one begins, and ends at once where a person has to start it. */
  node(
    verb: 'retryNode' | 'skipNode' | 'cancelNode',
    pool: string,
    request: NodeRequest,
  ): Promise<StepResult>;
  /** False when none runs. */
  cancel(pool: string): Promise<boolean>;
  /** Rollouts, newest first, at most `limit`. */
  rollouts(options: {
    readonly pool?: string;
    readonly limit: number;
  }): Promise<readonly RolloutRecord[]>;
}

export interface SetupStep {
  /** `namespace slipway` */
  readonly what: string;
  readonly did: 'created' | 'changed' | 'exists';
  /** How long Temporal keeps ended workflows. */
  readonly retentionSeconds?: number;
}

/** Existing things stay unchanged. */
export interface CliTemporalSetup {
  readonly address: string;
  /**
   * @param retentionSeconds - undefined = 7 days for a new namespace; an existing one keeps its own
   */
  namespace(retentionSeconds: number | undefined): Promise<SetupStep>;
  /** Resolves when they are usable; throws a `CliError` when one exists with another type. */
  searchAttributes(): Promise<readonly SetupStep[]>;
}

export interface CliContext {
  readonly terminal: Terminal;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** As the API server knows the person. */
  user(): Promise<string | undefined>;
  cluster(): Promise<CliCluster>;
  temporal(): Promise<CliTemporal>;
  temporalSetup(): Promise<CliTemporalSetup>;
  readonly doctor: DoctorConnections;
  readonly support: SupportConnections;
  readonly streams: StandardStreams;
}

/** Of the process; what runs elsewhere is connected to them. */
export interface StandardStreams {
  readonly in: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly out: Writable & {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly err: Writable;
  /** Kind of the terminal. */
  readonly term?: string;
}

/** For what is copied as it is, and for pods. */
export interface SupportConnections {
  kube(): Promise<KubeClient>;
  temporal(): Promise<SupportTemporal>;
}

export interface DoctorConnections {
  cluster(): Promise<DoctorCluster>;
  temporal(): Promise<DoctorTemporal>;
}
