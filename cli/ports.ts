/** What the commands need of the outside; `cli/connections.ts` makes the real things. */

import type { Pod, PodDisruptionBudget } from '../core/drain';
import type { NodeDisruptionPolicy } from '../core/disruption/types';
import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';
import type {
  NodeRequest,
  NodeStatus,
  RolloutAnswer,
  RolloutProgress,
} from '../workflows/messages';
import type { Terminal } from './terminal';

/** The cluster's objects at one instant. */
export interface ClusterView {
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  readonly machineConfigNodes: ReadonlyMap<string, MachineConfigNode>;
  readonly policies: readonly RolloutPolicy[];
}

/** The Kubernetes API as the CLI uses it. Throws `ObjectNotFound`, `ApiUnavailable`. */
export interface CliCluster {
  read(): Promise<ClusterView>;
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

/** Temporal as the CLI uses it. */
export interface CliTemporal {
  /** The running rollout's answer; undefined when none runs. */
  progress(pool: string): Promise<RolloutProgress | undefined>;
  nodeStatus(node: string): Promise<NodeStatus | undefined>;
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

/** Everything a command gets. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly now: () => number;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly user: string | undefined;
  cluster(): Promise<CliCluster>;
  temporal(): Promise<CliTemporal>;
}
