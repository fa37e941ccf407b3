/** What a rollout is doing, and what it waits for, in a sentence that a person can act on. */

import { fewNames } from '../few';
import type { ResolvedPolicy } from '../pool/types';
import { quorumSentence, type ControlPlaneRoom } from './control-plane';
import { failureLimit } from './policy';

/** `Cancelling` is a decision of a person and comes in; all others follow from the facts. */
export const RolloutState = {
  ROLLING: 'Rolling',
  PAUSED: 'Paused',
  HALTED: 'Halted',
  BLOCKED: 'Blocked',
  WAITING_FOR_RENDER: 'WaitingForRender',
  COMPLETED: 'Completed',
  CANCELLING: 'Cancelling',
} as const;
export type RolloutState = (typeof RolloutState)[keyof typeof RolloutState];

/** How a rollout ends by itself; `not started`: its pool waits for a person to start it. */
export type RolloutEnd = 'completed' | 'cancelled' | 'not started';

/** A node, and why it is as it is. */
export interface NamedReason {
  readonly node: string;
  readonly reason: string;
}

/** The facts that decide the state of a rollout. */
export interface RolloutFacts {
  readonly pool: string;
  /** The pool's rendered config; absent = not rendered yet. */
  readonly config?: string;
  readonly paused: boolean;
  readonly pausedReason?: string;
  /** A person cancelled the rollout, and its updates have yet to end. */
  readonly cancelling?: boolean;
  /** A person cancelled the rollout of this config. */
  readonly cancelled?: boolean;
  /** Nobody has started it, and its policy says Manual. */
  readonly unstarted?: boolean;
  /** So many nodes failed that no other may try the config. */
  readonly halted?: boolean;
  readonly machineCount: number;
  readonly maxUnavailable: number;
  /** Nodes on the config, verified. */
  readonly updated: number;
  /** Nodes with a grant that counts, or out of service by themselves. */
  readonly unavailable: readonly string[];
  /** Why they are, as far as it is known. */
  readonly unavailableBecause?: readonly NamedReason[];
  /** Node updates under way. */
  readonly children: readonly {
    readonly node: string;
    readonly isGranted: boolean;
    /** What it waits for, when it waits for something. */
    readonly blocker?: string;
  }[];
  /** Absent = none of its nodes is of the control plane. */
  readonly controlPlane?: Pick<ControlPlaneRoom, 'total' | 'isLimiting'>;
  /** Nodes that could start and are not in flight. */
  readonly candidateCount: number;
  readonly failed: readonly NamedReason[];
  /** Nodes that had failed and are tried again: they count until they are verified; absent = none. */
  readonly triedAgain?: readonly string[];
  readonly held: readonly NamedReason[];
  readonly blocked: readonly NamedReason[];
  readonly policy: Pick<ResolvedPolicy, 'failureThreshold'>;
}

export interface StateAndBlocker {
  readonly state: RolloutState;
  /** What it waits for; absent when nothing stands in the way. */
  readonly blocker?: string;
}

/**
 * The state of a rollout. The first that holds counts: cancelling, waiting for a rendered config,
 * completed, paused, halted, rolling, blocked.
 */
export function rolloutState(facts: RolloutFacts): StateAndBlocker {
  if (facts.cancelling === true) return cancelling(facts);
  if (facts.config === undefined) {
    return {
      state: RolloutState.WAITING_FOR_RENDER,
      blocker: `waiting for the first rendered config of pool ${facts.pool}; see its RenderDegraded condition`,
    };
  }
  if (facts.children.length === 0 && facts.updated >= facts.machineCount) {
    return { state: RolloutState.COMPLETED };
  }
  if (facts.cancelled === true) {
    return { state: RolloutState.BLOCKED, blocker: cancelledSentence(facts) };
  }
  if (facts.unstarted === true) {
    return { state: RolloutState.BLOCKED, blocker: unstartedSentence(facts) };
  }
  if (facts.paused) return { state: RolloutState.PAUSED, blocker: pausedSentence(facts) };
  if (facts.halted === true) {
    return { state: RolloutState.HALTED, blocker: haltedSentence(facts) };
  }
  const working = facts.children.some((child) => child.isGranted && child.blocker === undefined);
  if (working) return { state: RolloutState.ROLLING };
  return movingOrBlocked(facts);
}

/** Nobody works without hindrance: either something is about to, or the first hindrance is named. */
function movingOrBlocked(facts: RolloutFacts): StateAndBlocker {
  const { children, candidateCount, unavailable, maxUnavailable } = facts;
  const hindered = children.find(({ isGranted }) => isGranted);
  if (hindered !== undefined) {
    return { state: RolloutState.ROLLING, blocker: `${hindered.node}: ${hindered.blocker}` };
  }
  if (children.length + candidateCount === 0) {
    return { state: RolloutState.BLOCKED, blocker: leftoverSentence(facts) };
  }
  if (unavailable.length >= maxUnavailable) {
    return { state: RolloutState.BLOCKED, blocker: noRoomSentence(facts) };
  }
  const [first] = children;
  if (first?.blocker === undefined || children.some(({ blocker }) => blocker === undefined)) {
    return { state: RolloutState.ROLLING };
  }
  const state = candidateCount === 0 ? RolloutState.BLOCKED : RolloutState.ROLLING;
  return { state, blocker: `${first.node}: ${first.blocker}` };
}

function cancelling(facts: RolloutFacts): StateAndBlocker {
  if (facts.children.length === 0) return { state: RolloutState.CANCELLING };
  const nodes = facts.children.map((child) => child.node);
  return {
    state: RolloutState.CANCELLING,
    blocker: `waiting for ${fewNames(nodes)} to be taken back or to finish`,
  };
}

function cancelledSentence({ pool, config }: RolloutFacts): string {
  return `the rollout of ${config} was cancelled; start it again: slipway rollout start ${pool}`;
}

function unstartedSentence({ pool, children }: RolloutFacts): string {
  const working = children.filter(({ isGranted }) => isGranted).map(({ node }) => node);
  const rest = working.length === 0 ? '' : `; ${fewNames(working)} will still finish`;
  return `pool ${pool} waits for a person: slipway rollout start ${pool}${rest}`;
}

function pausedSentence(facts: RolloutFacts): string {
  const reason = facts.pausedReason === undefined ? '' : ` (${facts.pausedReason})`;
  const finishing = facts.children
    .filter((child) => child.isGranted && child.blocker === undefined)
    .map((child) => child.node);
  const rest = finishing.length === 0 ? '' : `; ${fewNames(finishing)} will still finish`;
  return `pool ${facts.pool} is paused${reason}${rest}; resume it to go on`;
}

function haltedSentence(facts: RolloutFacts): string {
  const limit = failureLimit(facts.policy, facts.machineCount);
  const first = facts.failed[0];
  const { triedAgain = [] } = facts;
  const names = [...facts.failed.map(({ node }) => node), ...triedAgain];
  const total = facts.failed.length + triedAgain.length;
  return (
    `${count(total, 'node')} failed on ${facts.config} (the limit is ${limit}): ` +
    `${fewNames(names, { total })}` +
    `${first === undefined ? '' : `; ${first.node}: ${first.reason}`}` +
    (triedAgain.length === 0 ? '; retry a node or change the config' : triedAgainSentence(facts))
  );
}

function triedAgainSentence({ triedAgain = [], blocked }: RolloutFacts): string {
  const isOne = triedAgain.length === 1;
  const kept = blocked.find(({ node }) => triedAgain.includes(node));
  const but = kept === undefined ? '' : `; ${kept.node} cannot be taken now: ${kept.reason}`;
  const others = `the others wait until ${isOne ? 'it is' : 'one is'} verified`;
  return `; ${fewNames(triedAgain)} ${isOne ? 'is' : 'are'} tried again, and ${others}${but}`;
}

function noRoomSentence(facts: RolloutFacts): string {
  const { unavailable, unavailableBecause = [], maxUnavailable, controlPlane } = facts;
  const why = controlPlane?.isLimiting === true ? `; ${quorumSentence(controlPlane.total)}` : '';
  const taking = new Set(unavailable);
  const known = unavailableBecause.filter(({ node }) => taking.has(node));
  for (const { node } of known) taking.delete(node);
  const named = [...known.map(withReason), ...taking];
  return (
    `no room: ${count(unavailable.length, 'node')} of at most ${maxUnavailable} ` +
    `out of service: ${fewNames(named)}${why}`
  );
}

/** Nothing runs and nothing can start: every node that is left is named, the worst first. */
function leftoverSentence(facts: RolloutFacts): string {
  const parts = [
    reasonsOf(['failed', 'failed'], facts.failed),
    reasonsOf(['cannot be taken now', 'cannot be taken now'], facts.blocked),
    reasonsOf(['is held', 'are held'], facts.held),
  ].filter((part) => part !== undefined);
  return parts.length === 0
    ? `waiting for the cluster: ${facts.updated} of ${count(facts.machineCount, 'node')} updated`
    : `nothing is left to start; ${parts.join('; ')}`;
}

function reasonsOf(
  [one, several]: readonly [string, string],
  reasons: readonly NamedReason[],
): string | undefined {
  const total = reasons.length;
  if (total === 0) return undefined;
  const what = total === 1 ? one : several;
  return `${count(total, 'node')} ${what}: ${fewNames(reasons.map(withReason))}`;
}

function withReason({ node, reason }: NamedReason): string {
  return `${node} (${reason})`;
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
