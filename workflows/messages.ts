/**
 * Signals, queries and updates of the workflows, and their payloads. Every message takes one JSON
 * object, because that is what the Temporal UI's dialogs post.
 */

import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { NodeDisruptionPolicy } from '../core/disruption/types';
import type { NodePhase } from '../core/node/lifecycle';
import type { ResolvedPolicy } from '../core/pool/types';
import type { NamedReason } from '../core/rollout/index';
import type { PictureVersions } from './contracts/cluster';
import type { ConfigReference } from './contracts/host';

/** Input of `poolRollout`: everything else is read from the cluster. */
export interface PoolRolloutInput {
  readonly pool: string;
  /** Carried across continue-as-new; never set by a person. */
  readonly carry?: PoolRolloutCarry;
}

/** What a run of `poolRollout` hands to the next one. */
export interface PoolRolloutCarry {
  readonly config: string;
  readonly startedAt: string;
  readonly children: readonly ChildState[];
  readonly retry: readonly string[];
  /** Nodes that had failed before a person told to try them again; absent = none. */
  readonly triedAgain?: readonly string[];
  /** Durations of finished nodes, newest last, bounded. */
  readonly finished: readonly NodeReport[];
  readonly failedReports: readonly NodeReport[];
  readonly updatedByUs: number;
  /** Nodes whose drain timed out, oldest first: tried again after all others. */
  readonly deferred?: readonly NamedReason[];
  /** Nodes held by a message whose annotation the view has not shown yet. */
  readonly heldByUs?: readonly (NamedReason & {
    /** `resourceVersion` of the Node on which it is written. */
    readonly writtenAt?: string;
  })[];
  /** Those of them whose hold is not written down yet. */
  readonly toHold?: readonly string[];
  /** Slots of updates that ended without a report, with the instant until which they count. */
  readonly orphanedSlots?: readonly { readonly node: string; readonly until: string }[];
  /** Slots of nodes that were left out of service and that the view has not shown so yet. */
  readonly broken?: readonly {
    readonly node: string;
    readonly until: string;
    readonly leftAt?: string;
  }[];
  /** Nodes that were seen updated, while the view is older: they are not started again. */
  readonly settled?: readonly { readonly node: string; readonly until: string }[];
  /** It is not known yet which updates of an earlier rollout run. */
  readonly unlearned?: true;
  /** When it was last checked which updates still run: runs may follow each other faster than checks. */
  readonly checkedAt?: string;
  /** What the last look was made from. */
  readonly asNewAs?: PictureVersions;
  /** What the controllers have told of theirs; absent = nothing that counts. */
  readonly told?: {
    readonly versions?: PictureVersions;
    /** Since when no look could show it. */
    readonly failsSince?: string;
    /** What no look could show at last. */
    readonly givenUp?: PictureVersions;
  };
  /** A pause or resume that the view has not shown yet. */
  readonly pause?: {
    readonly isLater?: true;
    readonly paused: boolean;
    readonly reason: string;
    readonly until: string;
  };
}

/** A node update that the rollout has started or adopted and that has not reported its end. */
export interface ChildState {
  readonly node: string;
  readonly config: string;
  /** `preparing` → `waiting` (prepared, no slot) → `working` (slot granted). */
  readonly stage: 'preparing' | 'waiting' | 'working';
  readonly holdsSlot: boolean;
  /** RFC 3339: when this rollout gave it the slot that it holds; absent = it gave none. */
  readonly grantedAt?: string;
  /** RFC 3339, of the stage. */
  readonly since: string;
  /** Why it has no slot yet; only in the answer to `progress`. */
  readonly blocker?: string;
  /** Found already running and asked to report here; counts as a slot holder until it answers. */
  readonly adopting?: boolean;
  /** Set when the rollout asked it to stop, with the reason. */
  readonly cancelling?: {
    readonly why: 'retarget' | 'operator' | 'rollout' | 'deleted' | 'moved';
    readonly reason: string;
  };
  /** It was told to stop before its node came back to the pool: it does not end by the wish of a person. */
  readonly stoppedBefore?: true;
  /** Of the Node, as far as it is known. */
  readonly uid?: string;
  /** Of the update: what is said to it must not reach a later one of the same node. */
  readonly runId?: string;
  /** It was started because a person had said to try the node again, so that is done with its report. */
  readonly isRetry?: true;
}

/** Input of `updateNode`. Started by `poolRollout` only. */
export interface UpdateNodeInput {
  readonly node: string;
  readonly pool: string;
  readonly config: ConfigReference;
  readonly currentConfig?: ConfigReference;
  /** Of the Node: a later one of the same name is another node. */
  readonly uid?: string;
  /** Unavailable because of an earlier update: what is half done may still be on the host. */
  readonly repair?: boolean;
  /** Of a repair: nobody has heard how that earlier update ended. Absent = it said so. */
  readonly unfinished?: true;
  /** In service, although an earlier update has begun on it: what is half done may be on the host, too. */
  readonly halfDone?: true;
  /** It had failed on this config, and a person has told to try it again: it counts as failed until this has ended. */
  readonly triedAgain?: true;
  readonly policy: ResolvedPolicy;
  readonly disruptionPolicies: NodeDisruptionPolicy;
  /** Workflow ID that gives the slot and gets the report. */
  readonly reportTo: string;
}

export type UpdateOutcome = 'updated' | 'failed' | 'cancelled';

/** How one node update ended. */
export interface NodeReport {
  readonly node: string;
  readonly uid?: string;
  /** Of the update. */
  readonly runId: string;
  readonly config: string;
  readonly outcome: UpdateOutcome;
  /** Phase in which it failed or was cancelled. */
  readonly phase?: NodePhase;
  readonly reason?: string;
  /** Catalogue name of the first cause. */
  readonly failure?: string;
  /** It was cancelled by the rollout that it had, and not by a person in Temporal. */
  readonly stoppedByRollout?: true;
  /** Seconds per phase that ran, in order. */
  readonly phases: readonly { readonly phase: NodePhase; readonly seconds: number }[];
  /**
   * `resourceVersion` of the Node when it was seen in service at the end: an older picture of it
   * does not count. Absent = not in service, or not known.
   */
  readonly inServiceAt?: string;
  /** Of a drain that timed out: whether the policy of the update has it tried again after the others. */
  readonly isTriedAgain?: boolean;
  /** The host could not be taken back, so the node is out of service. */
  readonly hostIsBack?: false;
  /** `resourceVersion` of the Node when it was left out of service; absent = it was not, or not known. */
  readonly leftAt?: string;
  /** Drain and reboot happened or not. */
  readonly disruption: 'none' | 'services' | 'drain' | 'reboot';
  readonly startedAt: string;
  readonly finishedAt: string;
}

/** What `updateNode` answers to `status`. */
export interface NodeStatus {
  readonly node: string;
  readonly pool: string;
  readonly config: string;
  readonly phase: NodePhase;
  /** RFC 3339. */
  readonly since: string;
  /** What the update does, once planned. */
  readonly summary?: string;
  /** What it waits for. */
  readonly blocker?: string;
  readonly pastPointOfNoReturn: boolean;
}

export type RolloutState =
  'Rolling' | 'Paused' | 'Halted' | 'Blocked' | 'WaitingForRender' | 'Completed' | 'Cancelling';

/** What `poolRollout` answers to `progress` and returns at its end. */
export interface RolloutProgress {
  readonly pool: string;
  readonly config: string;
  readonly state: RolloutState;
  /** What the rollout waits for, in a sentence a person can act on. */
  readonly blocker?: string;
  readonly maxUnavailable: number;
  readonly machineCount: number;
  /** How many of them are simulated; absent = none. */
  readonly simulatedCount?: number;
  readonly updated: number;
  /** Nodes holding a slot. */
  readonly slots: readonly string[];
  readonly children: readonly ChildState[];
  /** These three lists are cut at some length; the counts are whole. */
  readonly failed: readonly NamedReason[];
  readonly held: readonly NamedReason[];
  readonly blocked: readonly NamedReason[];
  readonly failedCount: number;
  /** Nodes that had failed and are tried again: they count as failed until they are verified; absent = none. */
  readonly triedAgain?: readonly string[];
  readonly heldCount: number;
  readonly blockedCount: number;
  readonly waitingCount: number;
  readonly startedAt: string;
  /** Estimated seconds to the end; absent = no node has finished yet. */
  readonly remainingSeconds?: number;
  /** The last reports, newest last, at most 200. */
  readonly reports: readonly NodeReport[];
}

/** What `poolRollout` answers to its updates: answers are kept in the history, reports once. */
export type RolloutAnswer = Omit<RolloutProgress, 'reports'>;

/** A reason for the record; `by` names the person when known. */
export interface Reason {
  readonly reason: string;
  readonly by?: string;
}

export interface NodeRequest {
  readonly node: string;
  readonly reason?: string;
  readonly by?: string;
}

// poolRollout
export const pauseUpdate = defineUpdate<RolloutAnswer, [Reason]>('pause');
export const resumeUpdate = defineUpdate<RolloutAnswer, [Partial<Reason>]>('resume');
export const retryNodeUpdate = defineUpdate<RolloutAnswer, [NodeRequest]>('retryNode');
export const skipNodeUpdate = defineUpdate<RolloutAnswer, [NodeRequest]>('skipNode');
export const cancelNodeUpdate = defineUpdate<RolloutAnswer, [NodeRequest]>('cancelNode');
/** In which picture something was seen. */
export interface SeenIn {
  /** No older one shows it; absent = said by a person or the CLI. */
  readonly versions?: PictureVersions;
}
/** Look at the pool's configuration now; `config` is what the caller saw, for the record. */
export const retargetUpdate = defineUpdate<RolloutAnswer, [{ readonly config: string } & SeenIn]>(
  'retarget',
);
export interface ClusterNews extends SeenIn {
  readonly reason: string;
}
export const clusterChangedSignal = defineSignal<[ClusterNews]>('clusterChanged');
export const nodeFinishedSignal = defineSignal<[NodeReport]>('nodeFinished');
/** A child is ready for its slot, or an adopted one says how far it is. */
export interface Prepared {
  readonly node: string;
  readonly uid?: string;
  /** Of the update itself. */
  readonly runId: string;
  readonly config: string;
  readonly holdsSlot: boolean;
  readonly stage: ChildState['stage'];
  /** It had one that was given for nothing, because its node seemed unavailable: give it a real one. */
  readonly returned?: true;
  /** Which one it returns; absent = it returns none. */
  readonly grantedAt?: string;
  /** Its node had failed on this config: a rollout that has not told it to try again must know. */
  readonly triedAgain?: true;
}
export const preparedSignal = defineSignal<[Prepared]>('prepared');
export const progressQuery = defineQuery<RolloutProgress>('progress');

// updateNode
/** That a node may be made unavailable now. */
export interface Slot {
  /** It costs nothing, because the node is unavailable anyway; returned when it is not any more. */
  readonly repair: boolean;
  /** Which one of the pool it is (`slotNumber`). */
  readonly number: number;
  /** Nodes that are counted in the number although they are down by themselves; absent = a repair, or too many to name. */
  readonly counts?: readonly string[];
  /** Nodes with slots that may be used at the same moment; absent = a repair, or too many to name. */
  readonly pending?: readonly string[];
  /** RFC 3339: tells it from the next one of the same node. */
  readonly grantedAt: string;
}
export interface Proceed extends Slot {
  /** Workflow ID of who gives it. */
  readonly slot: string;
}
export const proceedSignal = defineSignal<[Proceed]>('proceed');
/** Why the rollout cancels this update in a moment: so that the cancellation is not taken for the wish of a person. */
export const stoppingSignal = defineSignal<[{ readonly reason: string }]>('stopping');
/** The Node was deleted: stop at once, there is nothing to be taken back. */
export const nodeGoneSignal = defineSignal<[{ readonly reason: string }]>('nodeGone');
/** A rollout that found this update already running: answer with `prepared`, report to it. */
export const attachSignal = defineSignal<[{ readonly reportTo: string }]>('attach');
export const statusQuery = defineQuery<NodeStatus>('status');
