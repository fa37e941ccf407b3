/** Objects of the API server as an outsider sees them: only what judgements are made of. */

/** A Node as far as an outsider can judge it. */
export interface ObservedNode {
  readonly name: string;
  readonly resourceVersion: string;
  readonly unschedulable: boolean;
  /** Who has applied the cordon, on the server's side: it is theirs, whoever else has set it. */
  readonly cordonAppliedBy: readonly string[];
  readonly ready: boolean;
  readonly bootID: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Keys. */
  readonly taints: readonly string[];
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

/** By labels, as Kubernetes has it. */
export interface NodeSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}

/** Of one label. */
export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** A MachineConfigPool or a MachineConfigNode: a target and conditions by type. */
export interface ObservedStatus {
  readonly name: string;
  /** Rendered config that it should be on; empty = none yet. */
  readonly target: string;
  readonly paused: boolean;
  readonly conditions: Readonly<Record<string, ObservedCondition>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Config that its status says it is on; empty = none yet. */
  readonly current: string;
  /** A pool's numbers, as `machineCount` and `updatedMachineCount`. */
  readonly counts: Readonly<Record<string, number>>;
  /** A pool's nodes; absent = it has none. */
  readonly nodeSelector?: NodeSelector;
}
