/**
 * What workflows ask of the cluster: any cluster worker, one shared task queue. `activities/cluster` satisfies this, so
 * the arrows point one way and the sandbox compiles without Node types. Everything here is plain JSON.
 */

import type { PhaseSeconds } from '../../core/history/record';
import type { NodePhase } from '../../core/node/lifecycle';
import type { UpdateRun } from '../../core/node/turn';
import type { CancelReason } from '../../core/node/update-states';
import type { ResolvedPolicy } from '../../core/pool/types';

/** Common to all activities on one node of one update. */
export interface NodeStep {
  readonly node: string;
  readonly pool: string;
  readonly config: string;
  /** The update's workflow ID: the owner of a cordon. */
  readonly workflowId: string;
  readonly run: UpdateRun;
  /** Of the Node for which the update began: another one of its name is left alone (`NodeDeleted`). */
  readonly uid?: string;
  /** The node goes back to what it was on: neither a person's hold nor another config ends the update. */
  readonly takesBack?: true;
  /** One sentence: what the update does and why, for steps that show it. */
  readonly summary?: string;
  /** Of the steps that end it: how long each phase took so far. */
  readonly seconds?: PhaseSeconds;
}

/** What takes a node out of service, or only targets it. */
interface CordonStep extends NodeStep {
  /** False = only target the node (the plan needs no drain). */
  readonly cordon: boolean;
  /** Given: it is also looked whether there is anything to drain at all. */
  readonly drain?: ResolvedPolicy['drain'];
}

export interface TakeOutInput extends CordonStep {
  readonly summary: string;
  /** The plan takes nothing out of service, so its grant does not count against `maxUnavailable`. */
  readonly serves?: true;
}

/** Heartbeat details of the wait for a grant. */
export interface GrantProgress {
  readonly blocker: string;
}

/** The machine has to boot back, whatever pool its node is in by now. */
export interface CordonAgainInput extends CordonStep {
  readonly isGoingBack: true;
}

export interface CheckCordonInput extends NodeStep {
  /** The machine boots back because it has failed: a node that is not Ready is not refused. */
  readonly isGoingBack?: boolean;
  readonly drain: ResolvedPolicy['drain'];
}

export interface CheckedCordon {
  /**
   * No pod is there that must leave. What cannot be seen in time is left to a drain, which says what it waits
   * for; it holds up no way back.
   */
  readonly isEmpty: boolean;
}

export interface CordonedNode {
  readonly cordoned: boolean;
  /** The node has no pod that must leave, so that its drain is over before it begins. */
  readonly drained?: DrainedNode;
}

export interface DrainNodeInput extends NodeStep {
  readonly drain: ResolvedPolicy['drain'];
  /** RFC 3339: when the drain began, so that a retried activity keeps the same deadline. */
  readonly startedAt: string;
  /** The machine has to boot back, whoever keeps other pods away meanwhile: any cordon will do. */
  readonly isGoingBack?: boolean;
}

export interface DrainedNode {
  readonly evicted: number;
  /** Pods left alone on purpose (DaemonSet, mirror, finished). */
  readonly left: number;
}

export interface AwaitReturnInput extends NodeStep {
  /** The boot ID that the Node must report; absent = any. */
  readonly bootId?: string;
  readonly readySeconds: number;
  /** While the API server is away, neither goes on. */
  readonly timeoutSeconds: number;
}

/** Heartbeat details of a wait for Ready. */
export interface AwaitReturnProgress {
  /** What is waited for: something of the node, or the API server to say how it is. */
  readonly blocker: string;
  /** How much of its time is over: only time in which the node could be seen. */
  readonly waitedMs: number;
}

export interface ShowGoingBackInput extends NodeStep {
  /** As of the release that follows. Absent = of a run that began with an earlier version. */
  readonly outcome?: ReleaseNodeInput['outcome'];
}

export interface ReleaseNodeInput extends NodeStep {
  /**
   * `cancelled`: the node is back where it was, nothing failed. `failed`: it is back on its old
   * config and stays marked Degraded (or Unreconcilable) with the reason.
   */
  readonly outcome: 'cancelled' | 'failed';
  readonly unreconcilable: boolean;
  readonly reason: string;
  /** The phase in which it failed or was cancelled. */
  readonly phase?: NodePhase;
  /** False = the host could not be taken back: the node is cordoned, and the reason says so. */
  readonly hostIsBack: boolean;
  /** Name of the config that the host says it is on; absent = it said none. */
  readonly hostIsOn?: string;
  /** Its host had what an update to another config left, was taken back from that, and has proven it. */
  readonly isProvenBack?: boolean;
  /** Its drain timed out and is tried again by itself, after all others. */
  readonly isTriedLater?: boolean;
  /** A person cancelled the update: the node is left alone until it is retried. */
  readonly holds?: boolean;
}

export interface ClusterActivities {
  /**
   * Says that the update is prepared, waits for its grant and for room, then targets the node and, if asked,
   * cordons it, in one PATCH. No time limit: heartbeats `GrantProgress`. A cordon that was there is left as it is.
   * Ends by itself with `NodeDeleted`, `NodeMoved`, `HeldByUser`, `Retargeted`, or `CordonedByUser`.
   */
  takeOutOfService(input: TakeOutInput): Promise<CordonedNode>;
  /** On the way back. Refuses with `CordonedByUser` when a person cordoned it since. */
  cordonAgain(input: CordonAgainInput): Promise<CordonedNode>;
  /**
   * Evicts until only pods that stay are left; heartbeats `DrainProgress`. Then shows `Applying`. Refuses a node that
   * this update does not have: with `UncordonedByUser`, `CordonedByUser` or `UpdateSuperseded`.
   */
  drainNode(input: DrainNodeInput): Promise<DrainedNode>;
  /**
   * Refuses with `UncordonedByUser` or `CordonedByUser` a node that somebody has uncordoned since its drain, or
   * cordoned anew. Shows `Draining` when pods have come.
   */
  checkCordon(input: CheckCordonInput): Promise<CheckedCordon>;
  /** On the MachineConfigNode and as MCO's Event, once the reboot is armed. */
  showRebooting(input: NodeStep): Promise<void>;
  /** On the MachineConfigNode, with the reason as its `summary`. */
  showGoingBack(input: ShowGoingBackInput): Promise<void>;
  /** Waits until the Node is Ready in the boot that is asked for, for `readySeconds`; heartbeats `AwaitReturnProgress`. */
  awaitReturn(input: AwaitReturnInput): Promise<void>;
  /** currentConfig, state Done, uncordon if we cordoned, the run is over: one PATCH; then the MachineConfigNode. */
  completeNode(input: NodeStep): Promise<void>;
  /**
   * Compensation: uncordons if we cordoned, names the reason, says that the run is over. Cordons a node whose host
   * could not be taken back. A node that is gone, or is another one of the same name, is left alone.
   */
  releaseNode(input: ReleaseNodeInput): Promise<void>;
  /** Asked by an update that is cancelled. */
  whyCancelled(input: NodeStep): Promise<CancelReason>;
}
