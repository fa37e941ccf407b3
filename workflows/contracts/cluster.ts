/**
 * What workflows ask of the cluster: any cluster worker, one shared task queue. `activities/cluster` satisfies this, so
 * the arrows point one way and the sandbox compiles without Node types. Everything here is plain JSON.
 */

import type { NodeDisruptionPolicy } from '../../core/disruption/types';
import type { UpdateRun } from '../../core/node/turn';
import type { ResolvedPolicy } from '../../core/pool/types';
import type { PoolSelection } from '../../core/rollout/index';
import type { ConfigReference } from './host';

export interface SelectNodesInput {
  readonly pool: string;
  /** Nodes whose update runs; never candidates. */
  readonly inFlight: readonly string[];
  /** Those of them that wait for a slot in a rollout that stands still: `unfinished` names whom it may finish. */
  readonly waiting?: readonly string[];
  /**
   * Nodes that a person asked to retry: candidates although they failed on this target or were held, and first
   * among them.
   */
  readonly retry: readonly string[];
  /** How many candidates to return at most, besides those. */
  readonly limit: number;
  /** A node that a person asks about: first in whichever list of the answer it is. */
  readonly asked?: string;
  /** Nodes that the rollout remembers something of: it is told which of them have left the pool. */
  readonly remembered?: readonly RememberedNode[];
  /**
   * Nodes that were written at the end of an update, in service or left out of it: a picture that is older says
   * nothing about them.
   */
  readonly inService?: readonly SeenNode[];
  /**
   * What the look before was made from, and what the controllers have seen: an older picture would show things
   * undone that were seen, or hide what was told.
   */
  readonly asNewAs?: PictureVersions;
}

/** The newest versions in a picture of the cluster, by kind. */
export interface PictureVersions {
  readonly nodes: number;
  readonly pools: number;
  readonly policies: number;
}

/** A node, and which version of it is known. */
export interface SeenNode {
  readonly node: string;
  readonly resourceVersion: string;
}

/** A node that a rollout remembers; `uid` tells it from a later one of the same name. */
export interface RememberedNode {
  readonly node: string;
  readonly uid?: string;
  /** It has left the pool, as far as the rollout knows, and its update has yet to end. */
  readonly moved?: true;
}

/** A remembered node that is no member of the pool any more, as the API server says. */
export interface DepartedNode {
  readonly node: string;
  /** False = it was moved to another pool, or to none. */
  readonly deleted: boolean;
  readonly reason: string;
}

/** One look at a pool: what `core/rollout` decided, and what an update needs to be ordered. */
export interface PoolLook extends PoolSelection {
  /** The pool's rendered config; absent = not rendered yet. */
  readonly config?: ConfigReference;
  readonly policy: ResolvedPolicy;
  readonly disruptionPolicies: NodeDisruptionPolicy;
  /** The config whose rollout a person cancelled, as remembered on the pool. */
  readonly cancelledConfig?: string;
  /** The config whose rollout a person started, as remembered on the pool. */
  readonly startedConfig?: string;
  readonly versions: PictureVersions;
  /** Of the remembered nodes; absent = none has left. */
  readonly departed?: readonly DepartedNode[];
  /** Of those that had moved: who is a member again; absent = none. */
  readonly returned?: readonly string[];
  /** Of the current configs of the candidates, by name; one that is gone has none. */
  readonly digests: Readonly<Record<string, string>>;
}

export type SelectNodesResult =
  | {
      readonly exists: false;
      /** Of the remembered nodes; absent = none has left. */
      readonly departed?: readonly DepartedNode[];
    }
  | ({ readonly exists: true } & PoolLook);

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
}

export interface CordonNodeInput extends NodeStep {
  /** False = only target the node (the plan needs no drain). */
  readonly cordon: boolean;
  /** The slot cost nothing, because an update of ours has left the node unavailable: refused when none has. */
  readonly repair?: boolean;
  /** Which slot of the pool the node has (`slotNumber`); absent = it needs none. */
  readonly slotNumber?: number;
  /** Nodes that are counted in that although they are down by themselves; absent = too many to name. */
  readonly slotCounts?: readonly string[];
  /** Nodes that may be taken out in slots given before it, at the same moment; absent = too many to name. */
  readonly slotsPending?: readonly string[];
  /** One sentence: what the update does and why. */
  readonly summary: string;
  /** Given: it is also looked whether there is anything to drain at all. */
  readonly drain?: ResolvedPolicy['drain'];
  /** The machine has to boot back, whatever pool its node is in by now. */
  readonly isGoingBack?: boolean;
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

/** Heartbeat details of a drain: what is left and why. */
export interface DrainProgress {
  readonly evicted: number;
  /** Without a pod: why the pods of the node are not known. */
  readonly remaining: readonly { readonly pod?: string; readonly blocker: string }[];
  readonly remainingCount: number;
}

/** A step of an update that the MachineConfigNode shows while it runs. */
export type ReportedPhase = 'Draining' | 'Applying' | 'Rebooting' | 'GoingBack';

export interface ReportPhaseInput extends NodeStep {
  readonly phase: ReportedPhase;
  readonly message: string;
}

export interface AwaitReadyInput extends NodeStep {
  /** The boot ID that the Node must report; absent = no reboot took place. */
  readonly bootId?: string;
  readonly readySeconds: number;
  /** While the API server is away, neither of both goes on. */
  readonly timeoutSeconds: number;
}

/** Heartbeat details of a wait for Ready. */
export interface AwaitReadyProgress {
  /** What is waited for: something of the node, or the API server to say how it is. */
  readonly blocker: string;
  /** How much of `timeoutSeconds` is over: only time in which the node could be seen. */
  readonly waitedMs: number;
}

/** What the Node was when it was written last. */
export interface WrittenNode {
  /** Ready, schedulable and not on its way anywhere. */
  readonly inService: boolean;
  /** Of the Node; a picture with a smaller one is older than this. */
  readonly resourceVersion: string;
}

export interface ReleaseNodeInput extends NodeStep {
  /**
   * `cancelled`: the node is back where it was, nothing failed. `failed`: it is back on its old
   * config and stays marked Degraded (or Unreconcilable) with the reason.
   */
  readonly outcome: 'cancelled' | 'failed';
  readonly unreconcilable: boolean;
  readonly reason: string;
  /** False = the host could not be taken back: the node is cordoned, and the reason says so. */
  readonly hostIsBack: boolean;
  /** The update never wrote the Node: what is in service stays so, whatever its host is like. */
  readonly untouched?: boolean;
  /** Name of the config that the host says it is on; absent = it said none. */
  readonly hostIsOn?: string;
  /** Its host had what an update to another config left, was taken back from that, and has proven it. */
  readonly isProvenBack?: boolean;
  /** Its drain timed out and is tried again by itself: the node stays one that will be drained. */
  readonly isTriedLater?: boolean;
}

export interface ClusterActivities {
  /** One look at the pool from the watch-fed cache. Runs as a local activity: no API request. */
  selectNodes(input: SelectNodesInput): Promise<SelectNodesResult>;
  /**
   * Targets the node and, if asked, cordons it, in one PATCH. A cordon that was there is left as it
   * is. Refuses with `CordonedByUser` when a person cordoned it since, with `HeldByUser` when a person
   * holds it for this config, with `SlotNeeded` when it was to be repaired and is back in service, or the
   * pool has no room for it any more, and with `NodeMoved` when it belongs to another pool.
   */
  cordonNode(input: CordonNodeInput): Promise<CordonedNode>;
  /**
   * Evicts until only pods that stay are left; heartbeats `DrainProgress`. Refuses a node that this update
   * does not have: with `UncordonedByUser`, `CordonedByUser` or `UpdateSuperseded`.
   */
  drainNode(input: DrainNodeInput): Promise<DrainedNode>;
  /**
   * Refuses with `UncordonedByUser` or `CordonedByUser` a node that somebody has uncordoned since its drain, or
   * cordoned anew.
   */
  checkCordon(input: CheckCordonInput): Promise<CheckedCordon>;
  /** Shows a phase on the MachineConfigNode. */
  reportNodePhase(input: ReportPhaseInput): Promise<void>;
  /** Waits until the Node is Ready with the new boot ID for `readySeconds`; heartbeats `AwaitReadyProgress`. */
  awaitNodeReady(input: AwaitReadyInput): Promise<void>;
  /** currentConfig, state Done, uncordon if we cordoned: one PATCH; then the MachineConfigNode. */
  completeNode(input: NodeStep): Promise<WrittenNode>;
  /**
   * Compensation: uncordons if we cordoned, names the reason. Cordons a node whose host could not be
   * taken back. Nothing is returned for a node that is gone, or is another one of the same name.
   */
  releaseNode(input: ReleaseNodeInput): Promise<WrittenNode | undefined>;
  /**
   * Marks a node as held (skipped or cancelled) for a config, or clears it (`reason` absent). Refuses
   * with `RefusedRequest` a node that belongs to another pool.
   */
  holdNode(input: {
    readonly node: string;
    readonly pool: string;
    readonly config: string;
    readonly reason?: string;
  }): Promise<WrittenNode>;
  /**
   * Sets `spec.paused` and the reason on the pool. A pool that is paused already keeps its reason. Refuses with
   * `RefusedRequest` to end another pause than the one that was to end.
   */
  setPoolPaused(input: {
    readonly pool: string;
    readonly paused: boolean;
    readonly reason: string;
    /** The pause that a resume was asked to end; absent = any, because none was seen yet. */
    readonly ends?: { readonly reason?: string };
  }): Promise<void>;
  /**
   * Remembers on the pool that a person cancelled the rollout of this config, and that nobody has started it
   * any more; absent = forgets that it was cancelled.
   */
  markRolloutCancelled(input: {
    readonly pool: string;
    readonly config?: string;
    /** It is the config that the pool has: the rollout could not learn which one that is. */
    readonly ofPool?: true;
  }): Promise<void>;
  /** Remembers on the pool that a person started the rollout of this config; absent = forgets it. */
  markRolloutStarted(input: { readonly pool: string; readonly config?: string }): Promise<void>;
  /**
   * Which of these nodes have an open `update-node/<node>` workflow. With `pool`, every node of that
   * pool that is not on its config is asked for by its workflow ID, and whatever visibility knows of
   * the pool (search attribute `SlipwayPool`) is added: a rollout that starts without a memory must
   * know them before it gives its first slot, and visibility alone shows them late.
   */
  findRunningUpdates(input: {
    readonly nodes: readonly string[];
    readonly pool?: string;
  }): Promise<readonly string[]>;
}
