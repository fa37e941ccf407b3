/**
 * The states of the update of one node. Each names the one step that is under way, and carries what is known. How far
 * the node is disturbed, and so what takes it back, follows from the state.
 */

import type { Failure } from '../errors';
import type { NodePhase } from './lifecycle';
import type { UpdatePlan } from './plan-types';

/** What the host has said when it prepared. */
export interface PreparedHost {
  readonly plan: UpdatePlan;
  /** Name of the config that the host is on, from its own record. */
  readonly hostIsOn?: string;
  /** No reboot is due because of an earlier update. */
  readonly isSettled: boolean;
  /** The host has what an earlier update to this config wrote, and nothing that disturbs it undoes it. */
  readonly tookOver: boolean;
}

/** Of a way back, in each of its states. */
export interface Back {
  readonly cause: Cause;
  /** How far the node was disturbed. */
  readonly reach: Reach;
  /** The phase in which the update failed or was cancelled. */
  readonly phase: NodePhase;
  /** The phase that is shown on the way back. */
  readonly shown: NodePhase;
  /** Absent = the host has not answered. */
  readonly prepared?: PreparedHost;
  readonly hostIsOn?: string;
}

export interface Cause {
  readonly outcome: 'cancelled' | 'failed';
  readonly failure: Failure;
  /** A cancellation, of the workflow or of a step. */
  readonly isCancellation: boolean;
  /** Its drain timed out, and it is tried again by itself, after all others. */
  readonly isTriedLater: boolean;
}

/** In this order; each includes those before it. */
const REACHES = ['nothing', 'out', 'applied', 'armed', 'commitOrdered', 'committed'] as const;
/**
 * `nothing` = the node may be cordoned at the most; `out` of service; `applied`: something on the host may have changed;
 * `armed`: past the point of no return; `commitOrdered`: the host may be on its config for good; `committed`: it is.
 */
export type Reach = (typeof REACHES)[number];

interface WithPlan {
  readonly prepared: PreparedHost;
}

/** A machine that has rebooted boots back with the pods that came to it meanwhile, so they leave first. */
interface Clearing {
  readonly back: Back;
  /** How often the cordon was looked at. */
  readonly times: number;
}

export interface States {
  /** `prepared`: with a plan that is refused. */
  preparing: { readonly prepared?: PreparedHost };
  waiting: WithPlan;
  draining: WithPlan & { readonly isLate: boolean };
  applying: WithPlan;
  /** Whether the cordon is still there, and no pod came late. */
  looking: WithPlan;
  arming: WithPlan;
  acting: WithPlan;
  /** The host proves itself, once its machine is back. `rebootedFrom`: the boot before; absent = no reboot. */
  proving: WithPlan & { readonly rebootedFrom?: string };
  /** The node has to be Ready. `bootId`: the boot that was proven; absent = any, without a reboot. */
  returning: WithPlan & { readonly bootId?: string };
  /** `times`: how often it was ordered. */
  committing: WithPlan & { readonly times: number };
  /** The host has not said that it has committed: it may be on its way back by itself. */
  provingAgain: WithPlan & { readonly times: number };
  readyAgain: WithPlan & { readonly times: number };
  completing: WithPlan & { readonly hostIsOn?: string };

  /** A commit was ordered, and its answer may be lost. */
  asking: { readonly back: Back };
  /** Its host has committed, and only the answer was lost. */
  readyAfterAll: { readonly back: Back };
  lookingBack: Clearing;
  cordoningAgain: Clearing;
  drainingAgain: Clearing;
  undoing: { readonly back: Back };
  /** `because`: why the machine had begun to go back by itself. */
  provingBack: { readonly back: Back; readonly rebootedFrom?: string; readonly because?: string };
  readyBack: {
    readonly back: Back;
    readonly bootId?: string;
    readonly because?: string;
    readonly kept?: readonly string[];
  };
  /** What an earlier update has left, of which this one has changed nothing. */
  settling: { readonly back: Back; readonly how: 'discard' | 'undo' };
  /** The Node is given back while the host `drops` what it has staged. `isGivenBack`: only the latter is left. */
  releasing: {
    readonly back: Back;
    readonly release: Release;
    readonly drops: boolean;
    readonly isGivenBack: boolean;
    readonly ending: Ending;
  };
  ended: { readonly ending: Ending };
}

export type StateName = keyof States;
export type StateOf<K extends StateName> = { [N in K]: { readonly is: N } & States[N] }[K];
export type UpdateState = StateOf<StateName>;
export type Working = Exclude<StateName, 'ended'>;
/** The good path. */
export type Forward = Exclude<Working, BackName>;
export type BackName =
  | 'asking'
  | 'readyAfterAll'
  | 'lookingBack'
  | 'cordoningAgain'
  | 'drainingAgain'
  | 'undoing'
  | 'provingBack'
  | 'readyBack'
  | 'settling'
  | 'releasing';

/** How the Node is given back. */
export interface Release {
  readonly outcome: 'cancelled' | 'failed';
  readonly failure: Failure;
  /** False = the host could not be taken back. */
  readonly hostIsBack: boolean;
  readonly hostIsOn?: string;
  readonly isProvenBack: boolean;
  readonly isTriedLater: boolean;
  readonly holds: boolean;
}

/** The end of an update. */
export interface Ending {
  readonly outcome: 'updated' | 'failed' | 'cancelled';
  /** Absent = updated. */
  readonly failure?: Failure;
  /** Phase in which it failed or was cancelled. */
  readonly phase?: NodePhase;
}

/** What the cordon of a node that boots back is found as. */
export type FoundCordon = 'ours' | 'ours, and pods' | 'none' | 'of a person';

/** What the step of each state answers. */
export interface Answers {
  preparing: {
    readonly plan: UpdatePlan;
    readonly currentConfig?: string;
    readonly alreadyOnTarget: boolean;
    readonly unsettled?: true;
    readonly tookOver?: true;
  };
  waiting: { readonly drained?: unknown };
  draining: unknown;
  applying: unknown;
  looking: { readonly isEmpty: boolean };
  arming: { readonly bootId: string };
  acting: unknown;
  proving: { readonly bootId: string };
  returning: unknown;
  committing: unknown;
  provingAgain: unknown;
  readyAgain: unknown;
  completing: unknown;
  asking: { readonly committed?: true };
  readyAfterAll: unknown;
  lookingBack: FoundCordon;
  cordoningAgain: { readonly drained?: unknown };
  drainingAgain: unknown;
  undoing: { readonly rebooting: boolean; readonly bootId: string; readonly because?: string };
  provingBack: { readonly bootId: string; readonly kept?: readonly string[] };
  readyBack: unknown;
  settling: { readonly currentConfig?: string; readonly unsettled?: true };
  releasing: unknown;
}

/** Why an update was cancelled, as far as the cluster shows it. */
export interface CancelReason {
  readonly name?: 'NodeDeleted' | 'NodeMoved' | 'HeldByUser' | 'Retargeted';
  readonly reason: string;
  /** A person wants the node left alone until it is retried. */
  readonly holds?: true;
}

/**
 * `whole`: nothing is half done. `left`: an earlier update has left the node out of service, and has said why. `lost`:
 * an earlier update has begun, and nobody has heard how it ended.
 */
export type FoundNode = 'whole' | 'left' | 'lost';

export type Interruption =
  /** `isLate`: given up because time ran out. */
  | { readonly is: 'failed'; readonly failure: Failure; readonly isLate: boolean }
  | { readonly is: 'cancelled'; readonly why: CancelReason }
  | { readonly is: 'gone'; readonly failure: Failure };

export type UpdateEvent =
  /** With the answer of the state's step. */
  | { readonly is: 'done'; readonly answer: Answers[Working] }
  /** The Node is, while the host still drops what it has staged. */
  | { readonly is: 'given back' }
  | Interruption;

/** What the update was started with, as far as it decides. */
export interface UpdateFacts {
  readonly config: string;
  readonly found: FoundNode;
  /** The node is taken back from what another update has left: nobody holds it. */
  readonly takesBack: boolean;
  /** An update whose drain timed out is tried again by itself. */
  readonly retriesDrain: boolean;
  /** Why the update was cancelled, also one that goes on past its point of no return. */
  readonly cancelled?: CancelReason;
}

/** What follows the answer of a state's step. */
export type Follow<K extends Working> = (
  state: StateOf<K>,
  answer: Answers[K],
  facts: UpdateFacts,
) => UpdateState;

export const BEGIN: UpdateState = { is: 'preparing' };

/** The host has committed, or had nothing to change. */
export function completing(prepared: PreparedHost, config?: string): UpdateState {
  const hostIsOn = config ?? prepared.hostIsOn;
  return { is: 'completing', prepared, ...(hostIsOn === undefined ? {} : { hostIsOn }) };
}

/** How far the node is disturbed. */
export function reachOf(state: StateOf<Forward>): Reach {
  switch (state.is) {
    case 'preparing':
    case 'waiting':
      return 'nothing';
    case 'draining':
      return state.isLate ? 'applied' : 'out';
    case 'applying':
    case 'looking':
    case 'acting':
      return 'applied';
    case 'arming':
      return 'armed';
    case 'proving':
    case 'returning':
      return state.prepared.plan.reboot ? 'armed' : 'applied';
    case 'committing':
    case 'provingAgain':
    case 'readyAgain':
      return 'commitOrdered';
    case 'completing':
      return 'committed';
  }
}

/** From here on an update without a failure finishes, and one with a failure boots its machine back. */
export function isRebootArmed({ prepared, reach }: Pick<Back, 'prepared' | 'reach'>): boolean {
  return prepared?.plan.reboot === true && isAtLeast(reach, 'armed');
}

export function isAtLeast(reach: Reach, least: Reach): boolean {
  return REACHES.indexOf(reach) >= REACHES.indexOf(least);
}
