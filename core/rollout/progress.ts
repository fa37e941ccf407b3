/** What a rollout is doing, and what it waits for, in a sentence that a person can act on. */

import type { ResolvedPolicy } from '../pool/types';
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
  readonly unavailable: readonly string[];
  /** Why each is unavailable, when known. */
  readonly unavailableBecause?: readonly NamedReason[];
  /** Node updates under way. */
  readonly children: readonly {
    readonly node: string;
    readonly holdsSlot: boolean;
    /** What it waits for, when it waits for something. */
    readonly blocker?: string;
  }[];
  /** Nodes that could start and are not in flight. */
  readonly candidateCount: number;
  readonly failed: readonly NamedReason[];
  /** When `failed` was cut; absent = all are in it. */
  readonly failedCount?: number;
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
  if (facts.paused) return { state: RolloutState.PAUSED, blocker: pausedSentence(facts) };
  if (halted(failedCount(facts), facts.policy, facts.machineCount)) {
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
  const wants = facts.children.length + facts.candidateCount;
  if (wants > 0 && facts.unavailable.length < facts.maxUnavailable) {
    return { state: RolloutState.ROLLING };
  }
  return {
    state: RolloutState.BLOCKED,
    blocker: wants > 0 ? slotsSentence(facts) : leftoverSentence(facts),
  };
}

function cancelling(facts: RolloutFacts): StateAndBlocker {
  if (facts.children.length === 0) return { state: RolloutState.CANCELLING };
  const nodes = facts.children.map((child) => child.node);
  return {
    state: RolloutState.CANCELLING,
    blocker: `waiting for ${list(nodes)} to be taken back or to finish`,
  };
}

function pausedSentence(facts: RolloutFacts): string {
  const reason = facts.pausedReason === undefined ? '' : ` (${facts.pausedReason})`;
  const finishing = facts.children.filter((child) => child.holdsSlot).map((child) => child.node);
  const rest = finishing.length === 0 ? '' : `; ${list(finishing)} will still finish`;
  return `pool ${facts.pool} is paused${reason}${rest}; resume it to go on`;
}

function haltedSentence(facts: RolloutFacts): string {
  const limit = failureLimit(facts.policy, facts.machineCount);
  const first = facts.failed[0];
  return (
    `${count(failedCount(facts), 'node')} failed on ${facts.config} (the limit is ${limit}): ` +
    `${list(facts.failed.map(({ node }) => node))}` +
    `${first === undefined ? '' : `; ${first.node}: ${first.reason}`}` +
    '; retry a node or change the config'
  );
}

function failedCount(facts: RolloutFacts): number {
  return facts.failedCount ?? facts.failed.length;
}

function slotsSentence(facts: RolloutFacts): string {
  const because = facts.unavailableBecause ?? [];
  const nodes =
    because.length > 0
      ? because.slice(0, 3).map(({ node, reason }) => `${node} (${reason})`)
      : facts.unavailable.slice(0, 3);
  const more = facts.unavailable.length - nodes.length;
  return (
    `no free slot: ${count(facts.unavailable.length, 'node')} of at most ${facts.maxUnavailable} ` +
    `unavailable: ${nodes.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  );
}

/** Nothing runs and nothing can start: every node that is left is named, the worst first. */
function leftoverSentence(facts: RolloutFacts): string {
  const parts = [
    reasonsOf('failed', facts.failed),
    reasonsOf('blocked', facts.blocked),
    reasonsOf('held', facts.held),
  ].filter((part) => part !== undefined);
  return parts.length === 0
    ? `waiting for the cluster: ${facts.updated} of ${count(facts.machineCount, 'node')} updated`
    : parts.join('; ');
}

function reasonsOf(what: string, reasons: readonly NamedReason[]): string | undefined {
  if (reasons.length === 0) return undefined;
  const shown = reasons.slice(0, 3).map(({ node, reason }) => `${node} (${reason})`);
  const more = reasons.length - shown.length;
  return `${what}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function list(nodes: readonly string[]): string {
  const shown = nodes.slice(0, 3).join(', ');
  return nodes.length > 3 ? `${shown} and ${nodes.length - 3} more` : shown;
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
