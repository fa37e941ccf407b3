/** What a rollout is doing, and what it waits for, in a sentence that a person can act on. */

import { fewNames } from '../few';
import type { ResolvedPolicy } from '../pool/types';
import { quorumSentence, type ControlPlaneRoom } from './control-plane';
import { failureLimit } from './policy';
import { halted } from './threshold';
import type { NamedReason } from './view';

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

/** The facts that decide the state of a rollout. */
export interface RolloutFacts {
  readonly pool: string;
  /** The pool's rendered config; absent = not rendered yet. */
  readonly config?: string;
  readonly paused: boolean;
  readonly pausedReason?: string;
  /** A person cancelled the rollout; it ends when its children have. */
  readonly cancelling?: boolean;
  readonly machineCount: number;
  readonly maxUnavailable: number;
  /** Nodes on the config, verified. */
  readonly updated: number;
  /** Nodes that take a slot, also those whose slot only the rollout knows of. */
  readonly unavailable: readonly string[];
  /** Why they are, as far as it is known. */
  readonly unavailableBecause?: readonly NamedReason[];
  /** Node updates under way. */
  readonly children: readonly {
    readonly node: string;
    readonly holdsSlot: boolean;
    /** What it waits for, when it waits for something. */
    readonly blocker?: string;
  }[];
  /** Those of them that wait without a slot, and get none because they are down by themselves; absent = none. */
  readonly childrenDown?: readonly NamedReason[];
  /** Those of them that wait because too many control-plane nodes would be out, of all pools; absent = none. */
  readonly childrenHeld?: readonly NamedReason[];
  /** Absent = none of its nodes is of the control plane. */
  readonly controlPlane?: Pick<ControlPlaneRoom, 'total' | 'isLimiting'>;
  /** Who keeps all others from trying the config, and is taken up by nobody, and why; absent = none. */
  readonly canaryLeft?: readonly NamedReason[];
  /** Nodes that could start and are not in flight. */
  readonly candidateCount: number;
  readonly failed: readonly NamedReason[];
  /** When `failed` was cut; absent = all are in it. */
  readonly failedCount?: number;
  /** Those of them that do not count against the config; absent = none. */
  readonly unheardCount?: number;
  /** Nodes that had failed and are tried again: they count until they are verified; absent = none. */
  readonly triedAgain?: readonly string[];
  readonly held: readonly NamedReason[];
  /** When `held` was cut; absent = all are in it. */
  readonly heldCount?: number;
  readonly blocked: readonly NamedReason[];
  /** When `blocked` was cut; absent = all are in it. */
  readonly blockedCount?: number;
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
  if (facts.paused) return { state: RolloutState.PAUSED, blocker: pausedSentence(facts) };
  const { unheardCount = 0, triedAgain = [] } = facts;
  const counted = failedCount(facts) - unheardCount + triedAgain.length;
  if (halted(counted, facts.policy, facts.machineCount)) {
    return { state: RolloutState.HALTED, blocker: haltedSentence(facts) };
  }
  const working = facts.children.some((child) => child.holdsSlot && child.blocker === undefined);
  if (working) return { state: RolloutState.ROLLING };
  return movingOrBlocked(facts);
}

/** Nobody works without hindrance: either something is about to, or the first hindrance is named. */
function movingOrBlocked(facts: RolloutFacts): StateAndBlocker {
  const hindered = facts.children.find((child) => child.holdsSlot);
  if (hindered !== undefined) {
    return { state: RolloutState.ROLLING, blocker: `${hindered.node}: ${hindered.blocker}` };
  }
  const { childrenDown = [], children, candidateCount, canaryLeft = [] } = facts;
  const wants = children.length - childrenDown.length + candidateCount;
  const [canary] = canaryLeft;
  if (wants > 0 && canary !== undefined) {
    const must = `${canary.node} must be verified on the config first, and is left alone`;
    return {
      state: RolloutState.BLOCKED,
      blocker: `waiting for the canary: ${must}: ${canary.reason}`,
    };
  }
  if (wants > 0 && facts.unavailable.length < facts.maxUnavailable) {
    const down = new Set(childrenDown.map(({ node }) => node));
    const held = heldByControlPlane(facts, down);
    if (held !== undefined) return { state: RolloutState.BLOCKED, blocker: held };
    const able = children.filter(({ node }) => !down.has(node));
    const first = able.find(({ blocker }) => blocker === undefined) ?? able[0];
    return first?.blocker === undefined
      ? { state: RolloutState.ROLLING }
      : { state: RolloutState.ROLLING, blocker: `${first.node}: ${first.blocker}` };
  }
  return {
    state: RolloutState.BLOCKED,
    blocker: wants > 0 ? slotsSentence(facts) : leftoverSentence(facts),
  };
}

/** The pool has room, and all that wait are of the control plane, which has none. */
function heldByControlPlane(
  { children, childrenHeld = [] }: RolloutFacts,
  down: ReadonlySet<string>,
): string | undefined {
  const held = new Set(childrenHeld.map(({ node }) => node));
  const isHeld = children.every(({ node }) => held.has(node) || down.has(node));
  return isHeld ? childrenHeld[0]?.reason : undefined;
}

function cancelling(facts: RolloutFacts): StateAndBlocker {
  if (facts.children.length === 0) return { state: RolloutState.CANCELLING };
  const nodes = facts.children.map((child) => child.node);
  return {
    state: RolloutState.CANCELLING,
    blocker: `waiting for ${fewNames(nodes)} to be taken back or to finish`,
  };
}

function pausedSentence(facts: RolloutFacts): string {
  const reason = facts.pausedReason === undefined ? '' : ` (${facts.pausedReason})`;
  const finishing = facts.children
    .filter((child) => child.holdsSlot && child.blocker === undefined)
    .map((child) => child.node);
  const rest = finishing.length === 0 ? '' : `; ${fewNames(finishing)} will still finish`;
  return `pool ${facts.pool} is paused${reason}${rest}; resume it to go on`;
}

function haltedSentence(facts: RolloutFacts): string {
  const limit = failureLimit(facts.policy, facts.machineCount);
  const first = facts.failed[0];
  const { triedAgain = [] } = facts;
  const names = [...facts.failed.map(({ node }) => node), ...triedAgain];
  const total = failedCount(facts) + triedAgain.length;
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

function failedCount(facts: RolloutFacts): number {
  return facts.failedCount ?? facts.failed.length;
}

function slotsSentence(facts: RolloutFacts): string {
  const { unavailable, unavailableBecause = [], maxUnavailable, controlPlane } = facts;
  const why = controlPlane?.isLimiting === true ? `; ${quorumSentence(controlPlane.total)}` : '';
  const taking = new Set(unavailable);
  const known = unavailableBecause.filter(({ node }) => taking.has(node));
  for (const { node } of known) taking.delete(node);
  const named = [...known.map(withReason), ...taking];
  return (
    `no free slot: ${count(unavailable.length, 'node')} of at most ${maxUnavailable} ` +
    `unavailable: ${fewNames(named)}${why}`
  );
}

/** Nothing runs and nothing can start: every node that is left is named, the worst first. */
function leftoverSentence(facts: RolloutFacts): string {
  const { held, heldCount = held.length, childrenDown = [] } = facts;
  const blocked = [...childrenDown, ...facts.blocked];
  const blockedCount = childrenDown.length + (facts.blockedCount ?? facts.blocked.length);
  const parts = [
    reasonsOf(['failed', 'failed'], facts.failed, failedCount(facts)),
    reasonsOf(['cannot be taken now', 'cannot be taken now'], blocked, blockedCount),
    reasonsOf(['is held', 'are held'], held, heldCount),
  ].filter((part) => part !== undefined);
  return parts.length === 0
    ? `waiting for the cluster: ${facts.updated} of ${count(facts.machineCount, 'node')} updated`
    : `nothing is left to start; ${parts.join('; ')}`;
}

function reasonsOf(
  [one, several]: readonly [string, string],
  reasons: readonly NamedReason[],
  total: number,
): string | undefined {
  if (total === 0) return undefined;
  const what = total === 1 ? one : several;
  return `${count(total, 'node')} ${what}: ${fewNames(reasons.map(withReason), { total })}`;
}

function withReason({ node, reason }: NamedReason): string {
  return `${node} (${reason})`;
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
