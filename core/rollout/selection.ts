/** The part of a pool view that a workflow needs: of thousands of nodes, those that matter now. */

import type { ControlPlaneRoom } from './control-plane';
import type { BlockedNode, FailedNode, NamedReason, PoolView, RolloutCandidate } from './view';

/** At most this many reasons travel; the counts say how many there are. */
const REASONS_SHOWN = 50;
/** Who takes the slots is told in one sentence, and travels with every look. */
const UNAVAILABLE_EXPLAINED = 5;

/**
 * More verified nodes than these are not named. With more canaries than that, those that were seen and those that reported
 * are not told apart, and the larger of the two counts: a canary may wait longer than it must.
 */
const UPDATED_NAMED = 10;

export interface SelectionLimits {
  /** Nodes whose update runs; never candidates. */
  readonly inFlight: readonly string[];
  /** Those of them of which it is asked whether an earlier update left them unfinished. */
  readonly waiting?: readonly string[];
  /** Candidates wanted at most, besides those that a person told to try; 0 = none at all. */
  readonly limit: number;
  /**
   * Nodes that a person told to try (again): first among those that may start, and never cut off, because nobody
   * else may start while a rollout is halted.
   */
  readonly retry?: readonly string[];
  /** Nodes that have to be verified on the target before all may try it; absent = it is not asked who tries it. */
  readonly canaryNodes?: number;
  /** A node that somebody asks about: it comes first in whichever list it is, so that no cut hides it. */
  readonly asked?: string;
  /**
   * Nodes that the rollout remembers to have failed or to be held: named before all others, so that what it
   * remembers and what is only counted here are never one node twice.
   */
  readonly remembered?: readonly { readonly node: string }[];
}

/**
 * One look at a pool as a rollout needs it: small enough for a workflow history, whatever the size of
 * the pool. Every list of reasons is cut, and the count beside it says how many there are.
 */
export interface PoolSelection {
  readonly paused: boolean;
  readonly pausedReason?: string;
  readonly maxUnavailable: number;
  /** Absent = none of its nodes is of the control plane. */
  readonly controlPlane?: ControlPlaneRoom;
  /** Why that is 0: the pool has an impossible field; absent = it has none. */
  readonly invalid?: string;
  readonly machineCount: number;
  /** How many of them are simulated; absent = none. */
  readonly simulatedCount?: number;
  /** How many nodes are on the target, verified. */
  readonly updated: number;
  /** Which ones, while they are few: those who prove a config are told apart from those who reported. */
  readonly updatedNodes?: readonly string[];
  /** Which ones try it now (`PoolView.trying`), while it is not proven; absent = none, or it is. */
  readonly trying?: readonly string[];
  /** Unavailable in Slipway's sense, whatever the reason. */
  readonly unavailable: readonly string[];
  /** Of the nodes seen in service: those whose picture here is older than that. */
  readonly outdated: readonly string[];
  /** In the order in which they should start (`orderCandidates`). */
  readonly candidates: readonly Candidate[];
  /** All candidates that are not in flight, also those beyond the limit. */
  readonly candidateCount: number;
  /** Failed on this very config; not tried again until told. */
  readonly failed: readonly NamedReason[];
  readonly failedCount: number;
  /** Those of them that do not count against the config (`PoolView.unheard`); absent = none. */
  readonly unheardCount?: number;
  /** The first of them; absent = none. */
  readonly unheard?: readonly string[];
  /**
   * Of the nodes in flight: those that show a failure that counts, with the update that wrote it. One that the
   * update under way wrote is heard from the update itself a moment later; absent = none.
   */
  readonly failedInFlight?: readonly FailedNode[];
  /** Held by a person on this very config (skipped or cancelled). */
  readonly held: readonly NamedReason[];
  readonly heldCount: number;
  /** Cannot be taken now, with a sentence each. */
  readonly blocked: readonly BlockedNode[];
  readonly blockedCount: number;
  /** Of the nodes that were asked about: those that an earlier update left unfinished; absent = none. */
  readonly unfinished?: readonly string[];
  /**
   * Of the nodes in flight: those that are unavailable, and no update of ours has left them so. They get no
   * slot until they are back, or until a person tells to try them as they are; absent = none.
   */
  readonly downOtherwise?: readonly NamedReason[];
  /** How many nodes of the pool are down like this, in flight or not. */
  readonly downOtherwiseCount: number;
  /**
   * The other nodes that no update of ours has taken out, and that are `unavailable`: they get a slot as they are, and
   * are counted in the numbers of slots.
   */
  readonly countedDown: readonly string[];
  /** Why nodes are unavailable whose update does not run; the first few of them. */
  readonly unavailableBecause: readonly NamedReason[];
}

/** A node that may start now: what its update has to know of it. */
export type Candidate = Omit<RolloutCandidate, 'zone'>;

/** Cuts a view to what one decision needs. */
export function selectFrom(view: PoolView, limits: SelectionLimits): PoolSelection {
  const inFlight = new Set(limits.inFlight);
  const { retry = [], limit } = limits;
  const told = new Set(retry);
  const asked = limits.asked === undefined ? [] : [limits.asked];
  const open = <T extends { readonly node: string }>(nodes: readonly T[], named = asked) =>
    namedFirst(
      nodes.filter(({ node }) => !inFlight.has(node)),
      named,
    );
  const leftOut = [...asked, ...(limits.remembered ?? []).map(({ node }) => node)];
  const wanted = [...asked, ...told];
  const [candidates, blocked] = [open(view.candidates, wanted), open(view.blocked, wanted)];
  const toldToStart = candidates.filter(({ node }) => told.has(node)).length;
  const [failed, held] = [open(view.failed, leftOut), open(view.held, leftOut)];
  const unheard = view.unheard.filter((node) => !inFlight.has(node));
  const failedInFlight = failedWhileInFlight(view, inFlight);
  const waiting = new Set(limits.waiting ?? []);
  const unfinished = view.candidates
    .filter((candidate) => candidate.unfinished === true && waiting.has(candidate.node))
    .map(({ node }) => node);
  const downOtherwise = view.downOtherwise
    .filter(({ node }) => inFlight.has(node))
    .map((one, index) => (index < REASONS_SHOWN ? one : { node: one.node, reason: 'unavailable' }));
  const isProven = view.updated.length >= (limits.canaryNodes ?? 0);
  const trying = isProven ? [] : view.trying;
  const { paused, pausedReason, maxUnavailable, machineCount, unavailable, outdated } = view;
  const { simulatedCount, invalid, controlPlane } = view;
  return {
    ...{ paused, maxUnavailable, machineCount, unavailable, outdated },
    ...(controlPlane === undefined ? {} : { controlPlane }),
    ...(invalid === undefined ? {} : { invalid }),
    ...(pausedReason === undefined ? {} : { pausedReason }),
    ...(simulatedCount === undefined ? {} : { simulatedCount }),
    updated: view.updated.length,
    ...(view.updated.length > UPDATED_NAMED ? {} : { updatedNodes: view.updated }),
    ...(trying.length === 0 ? {} : { trying }),
    candidates: candidates.slice(0, limit > 0 ? limit + toldToStart : 0).map(withoutZone),
    candidateCount: candidates.length,
    failed: failed.slice(0, REASONS_SHOWN).map(({ node, reason }) => ({ node, reason })),
    failedCount: failed.length,
    ...(failedInFlight.length === 0 ? {} : { failedInFlight }),
    ...(unheard.length === 0
      ? {}
      : { unheardCount: unheard.length, unheard: unheard.slice(0, REASONS_SHOWN) }),
    held: held.slice(0, REASONS_SHOWN),
    heldCount: held.length,
    blocked: blocked.slice(0, REASONS_SHOWN),
    blockedCount: blocked.length,
    ...(unfinished.length === 0 ? {} : { unfinished }),
    ...(downOtherwise.length === 0 ? {} : { downOtherwise }),
    downOtherwiseCount: view.downOtherwise.length,
    countedDown: view.triedAsTheyAre,
    unavailableBecause: view.unavailableBecause
      .filter(({ node }) => !inFlight.has(node))
      .slice(0, UNAVAILABLE_EXPLAINED),
  };
}

function failedWhileInFlight(
  { failed, unheard }: PoolView,
  inFlight: ReadonlySet<string>,
): readonly FailedNode[] {
  const notCounted = new Set(unheard);
  return failed
    .filter(({ node, givenBackBy }) => inFlight.has(node) && givenBackBy !== undefined)
    .filter(({ node }) => !notCounted.has(node))
    .slice(0, REASONS_SHOWN);
}

/** Those of them that are named come first, in that order. */
function namedFirst<T extends { readonly node: string }>(
  nodes: readonly T[],
  named: readonly string[],
): readonly T[] {
  if (named.length === 0) return nodes;
  const wanted = new Set(named);
  const found = new Map(nodes.filter(({ node }) => wanted.has(node)).map((one) => [one.node, one]));
  const first = [...wanted].flatMap((node) => found.get(node) ?? []);
  return [...first, ...nodes.filter(({ node }) => !wanted.has(node))];
}

function withoutZone(candidate: RolloutCandidate): Candidate {
  const { node, uid, currentConfig, repair, unfinished, halfDone } = candidate;
  return {
    ...{ node, repair },
    ...(unfinished === undefined ? {} : { unfinished }),
    ...(halfDone === undefined ? {} : { halfDone }),
    ...(uid === undefined ? {} : { uid }),
    ...(currentConfig === undefined ? {} : { currentConfig }),
  };
}
