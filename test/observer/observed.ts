/** Objects of the API server: only the fields for judgements. */

export interface ObservedNode {
  readonly name: string;
  readonly resourceVersion: string;
  readonly unschedulable: boolean;
  /** By server-side apply, in addition to the writer that set it. */
  readonly cordonAppliedBy: readonly string[];
  readonly ready: boolean;
  readonly bootID: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly string[];
}

/** The watch delivered it at `atMs` (ms since the epoch). */
export interface NodeChange {
  readonly atMs: number;
  readonly node: ObservedNode;
  readonly previous: ObservedNode | undefined;
}

export interface ObservedPod {
  readonly name: string;
  readonly app: string;
  /** Empty = not scheduled yet. */
  readonly node: string;
  readonly ready: boolean;
  readonly terminating: boolean;
  /** Of its DisruptionTarget condition. */
  readonly disruption?: string;
}

/** A condition of a pool or of a MachineConfigNode. */
interface ObservedCondition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface NodeSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** A MachineConfigPool or a MachineConfigNode. */
export interface ObservedStatus {
  readonly name: string;
  /** Its desired rendered config; empty = none yet. */
  readonly target: string;
  readonly paused: boolean;
  readonly conditions: Readonly<Record<string, ObservedCondition>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** By its status; empty = none yet. */
  readonly current: string;
  /** `machineCount`, `updatedMachineCount`, … */
  readonly counts: Readonly<Record<string, number>>;
  readonly nodeSelector?: NodeSelector;
}

/** The permission of one run of an update to take its node out of service. */
export interface ObservedGrant {
  readonly node: string;
  readonly run: string;
  /** The update takes nothing out of service. */
  readonly serves: boolean;
}

/** A PoolRollout, which has the name of its pool. */
export interface ObservedRollout {
  readonly name: string;
  readonly blocker?: string;
  /** Updates that are prepared and have no grant. */
  readonly waiting: number;
  readonly grants: readonly ObservedGrant[];
}
