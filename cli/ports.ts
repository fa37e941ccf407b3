/** What the commands need of the outside; `cli/connections.ts` makes the real things. */

import type { Pod, PodDisruptionBudget } from '../core/drain';
import type { NodeDisruptionPolicy } from '../core/disruption/types';
import type { JoinTokenRecord, StoredJoinToken } from '../core/join';
import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';
import type {
  NodeRequest,
  NodeStatus,
  RolloutAnswer,
  RolloutProgress,
} from '../workflows/messages';
import type { RunningStep } from './running-step';
import type { Terminal } from './terminal';

/** The cluster's objects at one instant. */
export interface ClusterView {
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  readonly machineConfigNodes: ReadonlyMap<string, MachineConfigNode>;
  readonly policies: readonly RolloutPolicy[];
}

/** The join tokens of the cluster. */
export interface CliJoinTokens {
  /** Throws `Conflict` when there is one of this ID. */
  create(record: JoinTokenRecord): Promise<void>;
  /** Oldest first. */
  list(): Promise<readonly StoredJoinToken[]>;
  /** False when there is none. */
  revoke(id: string): Promise<boolean>;
  /** Deletes those that expired long ago; their IDs. */
  prune(nowMs: number): Promise<readonly string[]>;
}

/** How machines find the server, as far as the ControllerConfig says it. */
export interface ServerFacts {
  /** PEM. */
  readonly rootCa?: string;
  /** Host name of the API inside the cluster's network, where machines find the server, too. */
  readonly internalHost?: string;
}

/** The Kubernetes API as the CLI uses it. Throws `ObjectNotFound`, `ApiUnavailable`. */
export interface CliCluster {
  read(): Promise<ClusterView>;
  /** Asks for pools alone: whoever lets machines in may see nothing else. */
  poolNames(): Promise<readonly string[]>;
  readonly joinTokens: CliJoinTokens;
  serverFacts(): Promise<ServerFacts>;
  machineConfig(name: string): Promise<MachineConfig>;
  disruptionPolicy(): Promise<NodeDisruptionPolicy>;
  pods(): Promise<readonly Pod[]>;
  budgets(): Promise<readonly PodDisruptionBudget[]>;
  /** `namespace/name` of every DaemonSet. */
  daemonSets(): Promise<readonly string[]>;
  setPaused(pool: string, paused: boolean, reason: string): Promise<void>;
  clearRolloutCancelled(pool: string): Promise<void>;
  /** Follows pools, nodes and MachineConfigNodes; calls `onChange` with each new view. */
  follow(onChange: (view: ClusterView) => void, signal: AbortSignal): Promise<void>;
}

/** A rollout that Temporal knows, running or ended. */
export interface RolloutRecord {
  readonly pool: string;
  readonly runId: string;
  readonly status: string;
  readonly config?: string;
  readonly startedAt: string;
  readonly endedAt?: string;
}

/** A workflow that a person paused in Temporal: it is open, and answers nothing. */
export interface PausedInTemporal {
  /** Who paused what, why, and how it goes on. */
  readonly pausedInTemporal: string;
}

/** The process that does the work of one host. */
export interface HostWorkerRecord {
  readonly identity: string;
  /** RFC 3339: when it last asked Temporal for work, at most a minute ago while it runs. */
  readonly askedAt: string;
  /** It is not a machine. */
  readonly simulated?: true;
}

/** Temporal as the CLI uses it. Whoever does not answer is a `CliError` of the code UNREACHABLE. */
export interface CliTemporal {
  /** The open rollout's answer; undefined when none is open. */
  progress(pool: string): Promise<RolloutProgress | PausedInTemporal | undefined>;
  nodeStatus(
    node: string,
  ): Promise<((NodeStatus | PausedInTemporal) & { readonly step?: RunningStep }) | undefined>;
  /** Who does the work of this host; undefined when nobody has asked for it in the last minutes. */
  hostWorker(node: string): Promise<HostWorkerRecord | undefined>;
  /** The running steps of these nodes' updates, by node; of those that have one. */
  steps(nodes: readonly string[]): Promise<ReadonlyMap<string, RunningStep>>;
  /** Starts the rollout or wakes the running one. */
  start(pool: string, config: string): Promise<RolloutAnswer>;
  /** Sends an update to the running rollout; `NotRunning` is the undefined answer. */
  pause(pool: string, reason: string): Promise<RolloutAnswer | undefined>;
  resume(pool: string, reason: string): Promise<RolloutAnswer | undefined>;
  node(
    verb: 'retryNode' | 'skipNode' | 'cancelNode',
    pool: string,
    request: NodeRequest,
  ): Promise<RolloutAnswer | undefined>;
  /** False when none runs. */
  cancel(pool: string): Promise<boolean>;
  /** Rollouts, newest first, at most `limit`. */
  rollouts(options: {
    readonly pool?: string;
    readonly limit: number;
  }): Promise<readonly RolloutRecord[]>;
}

/** What was found or done of one thing that Slipway needs in Temporal. */
export interface SetupStep {
  /** `namespace slipway` */
  readonly what: string;
  readonly did: 'created' | 'changed' | 'exists';
  /** Of a namespace: how long Temporal keeps a workflow after its end. */
  readonly retentionSeconds?: number;
}

/** Makes what Slipway needs in Temporal; what is there stays. */
export interface CliTemporalSetup {
  readonly address: string;
  /** @param retentionSeconds - undefined = 7 days for a new one, and that of an old one stays */
  namespace(retentionSeconds: number | undefined): Promise<SetupStep>;
  /** Resolves when they can be used; throws a `CliError` when one exists with another type. */
  searchAttributes(): Promise<readonly SetupStep[]>;
}

/** Everything a command gets. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly now: () => number;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly user: string | undefined;
  cluster(): Promise<CliCluster>;
  temporal(): Promise<CliTemporal>;
  temporalSetup(): Promise<CliTemporalSetup>;
}
