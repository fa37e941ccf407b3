/**
 * What workflows ask of a machine: one worker on each, task queue `host/<node>`. `activities/host` satisfies this, so
 * the arrows point one way and the sandbox compiles without Node types.
 *
 * Everything here is plain JSON. Configs never travel through Temporal: a `ConfigReference` names
 * one, and the host fetches it by name and checks the digest.
 */

import type { NodeDisruptionPolicy } from '../../core/disruption/types';
import type { UpdatePlan } from '../../core/node/plan-types';

/** A rendered config: its object name and the SHA-256 (hex) of its canonical bytes. */
export interface ConfigReference {
  readonly name: string;
  readonly digest: string;
}

/** The pool that orders an update, as it was when the order was signed. */
export interface OrderingPool {
  readonly name: string;
  readonly uid: string;
  /** `metadata.generation`: of one UID, it only grows. */
  readonly generation: number;
}

/** The config that a host is brought to, by an order or at its first boot. */
export interface UpdateOrder {
  /** Workflow ID, run and phase. */
  readonly orderId: string;
  readonly node: string;
  readonly config: ConfigReference;
  /** What the Node says it runs; the host prefers its own record. Absent = never configured. */
  readonly currentConfig?: ConfigReference;
  /** The cluster's own disruption policies; the defaults are added on the host. */
  readonly disruptionPolicies: NodeDisruptionPolicy;
  /** RFC 3339. */
  readonly notAfter: string;
  /**
   * An earlier update has begun on the node, and nobody has heard how it ended: if the host knows that it failed on
   * this config, that is said now. Absent = what failed before has been said.
   */
  readonly afterLost?: true;
}

/** One order to one host. A repeated order returns the recorded result; what a host refuses is in `host/orders`. */
export interface HostOrder extends UpdateOrder {
  /** The activity that it is for. */
  readonly step: HostStep;
  readonly pool: OrderingPool;
  /** Of the order to prepare: the UID of the pool that the node leaves with it. */
  readonly movedFrom?: string;
  /** The config is no target of the pool, but what the host ran before. */
  readonly takesBack?: true;
  /** RFC 3339. */
  readonly issuedAt: string;
}

/** What the host found and what the update will do. No file contents, only names and reasons. */
export interface PreparedUpdate {
  readonly bootId: string;
  /** Name of the config that the host is on, from its own record. */
  readonly currentConfig?: string;
  /** Nothing to do: the host is on the config and its disk matches. */
  readonly alreadyOnTarget: boolean;
  readonly plan: UpdatePlan;
  /** Half-done work that was found: taken over, finished or undone before preparing. */
  readonly settled?: string;
  /**
   * It is not over, and only a reboot takes it back: this update proves it, or takes it back once the
   * node is out of service. Absent = the node may serve with the host as it is.
   */
  readonly unsettled?: true;
  /**
   * An earlier update to this very config was taken over with what it had written, so the disk is not that of
   * the config before: whoever ends before `applyUpdate` waits for `discardStaged` to put it back.
   */
  readonly tookOver?: true;
}

export interface DiscardedUpdate {
  /** Name of the config that the host is on, from its own record. */
  readonly currentConfig?: string;
  /** An earlier update is still on the host, because what takes it back disturbs the node. */
  readonly unsettled?: true;
}

export interface AppliedUpdate {
  readonly files: number;
  readonly units: number;
}

export interface ArmedReboot {
  /** Boot ID before the reboot; a later boot has another one. */
  readonly bootId: string;
}

export interface VerifiedHost {
  readonly bootId: string;
}

export interface GoneBack {
  /** The machine goes down for it; `verifyBack` waits until it is up again. */
  readonly rebooting: boolean;
  /** Of the boot in which the order was carried out. */
  readonly bootId: string;
  /** Why the machine had begun to go back by itself, a sentence; absent = it had not. */
  readonly because?: string;
  /** Of the order `onlyAsks`: the host is on the config of the order for good. */
  readonly committed?: true;
}

export interface VerifiedBack {
  readonly bootId: string;
  /** Directories that are where only the update had something, with what somebody else has put there. Absent = none. */
  readonly kept?: readonly string[];
}

export interface HostActivities {
  /** Inspects, settles half-done work, fetches, checks, plans, stages the OS image locked. */
  prepareUpdate(order: HostOrder): Promise<PreparedUpdate>;
  /**
   * Writes files, units, users, kernel arguments, extensions through the undo journal. A machine that does not
   * reach Temporal for `reconnectSeconds` from then on goes back by itself, until its reboot is armed.
   */
  applyUpdate(order: HostOrder & { readonly reconnectSeconds: number }): Promise<AppliedUpdate>;
  /** Reloads and restarts what the plan says; for updates without a reboot. */
  performServiceActions(order: HostOrder): Promise<void>;
  /**
   * Records the reboot durably and returns; the machine goes down after the acknowledgement. A machine
   * that does not reach Temporal within `reconnectSeconds` of its boot goes back by itself.
   */
  armReboot(order: HostOrder & { readonly reconnectSeconds: number }): Promise<ArmedReboot>;
  /**
   * Proves that the host is on the config: deployment, kernel arguments, files, units.
   * `rebootedFrom` = boot ID that must be gone; while it is not, throws `NotYetRebooted` (waiting).
   * `commitWithinSeconds` = the commit is ordered in that time. Until it has committed, a machine that does not reach
   * Temporal for `reconnectSeconds` goes back by itself, and `goBack` tells whether it has.
   */
  verifyUpdate(
    order: HostOrder & { readonly rebootedFrom?: string; readonly commitWithinSeconds: number },
  ): Promise<VerifiedHost>;
  /** Makes the new config the host's current one and drops the before-images. */
  commitUpdate(order: HostOrder): Promise<void>;
  /**
   * Undoes the journal byte for byte; arms a reboot into the previous deployment when needed. `failed` = why, when the
   * update has failed, for whoever comes next if it is lost before its node says so; absent = no failure.
   * `onlyAsks` = nothing is taken back: a commit was ordered and has not been answered, so one that has
   * begun is brought to its end, and the answer says whether there is one.
   */
  goBack(
    order: HostOrder & { readonly failed?: string; readonly onlyAsks?: true },
  ): Promise<GoneBack>;
  /** Proves that the host is on its previous config again. */
  verifyBack(order: HostOrder & { readonly rebootedFrom?: string }): Promise<VerifiedBack>;
  /**
   * Drops the staged deployment; the node was never disturbed. An update that this one had only taken over is
   * undone, unless that disturbs the node.
   */
  discardStaged(order: HostOrder): Promise<DiscardedUpdate>;
}

export type HostStep = keyof HostActivities;

/** What workflows hand to hosts: the cluster worker signs it on the way, and the host reads the order from what is signed. */
export interface Handed<Order extends HostOrder = HostOrder> {
  readonly order: Order;
  /** It was handed over before: this is a replay, and reaches nobody. */
  readonly isReplayed?: true;
}

export type HandedActivities = {
  readonly [Step in HostStep]: (
    handed: Handed<Parameters<HostActivities[Step]>[0]>,
  ) => ReturnType<HostActivities[Step]>;
};

const STEPS: Readonly<Record<HostStep, true>> = {
  prepareUpdate: true,
  applyUpdate: true,
  performServiceActions: true,
  armReboot: true,
  verifyUpdate: true,
  commitUpdate: true,
  goBack: true,
  verifyBack: true,
  discardStaged: true,
};

/** A cluster worker runs all others. */
export const HOST_STEPS: ReadonlySet<string> = new Set(Object.keys(STEPS));
