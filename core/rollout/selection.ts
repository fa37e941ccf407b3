/** The part of a pool view that a workflow needs: of thousands of nodes, those that matter now. */

import type { NamedReason, PoolView, RolloutCandidate } from './view';

/** At most this many reasons travel; the counts say how many there are. */
export const REASONS_SHOWN = 50;

export interface SelectionLimits {
  /** Nodes whose update runs; never candidates. */
  readonly inFlight: readonly string[];
  /** Candidates wanted at most. */
  readonly limit: number;
}

/** Small enough for a workflow history, whatever the size of the pool. */
export interface ViewSelection {
  /** How many nodes are on the target, verified. */
  readonly updated: number;
  /** In the order in which they should start. */
  readonly candidates: readonly RolloutCandidate[];
  /** All candidates that are not in flight, also those beyond the limit. */
  readonly candidateCount: number;
  readonly failed: readonly NamedReason[];
  readonly failedCount: number;
  readonly held: readonly NamedReason[];
  readonly heldCount: number;
  readonly blocked: readonly NamedReason[];
  readonly blockedCount: number;
}

/** Cuts a view to what one decision needs. */
export function selectFrom(view: PoolView, limits: SelectionLimits): ViewSelection {
  const inFlight = new Set(limits.inFlight);
  const candidates = view.candidates.filter((candidate) => !inFlight.has(candidate.node));
  const [failed, held, blocked] = [view.failed, view.held, view.blocked].map((reasons) =>
    reasons.filter(({ node }) => !inFlight.has(node)),
  ) as [NamedReason[], NamedReason[], NamedReason[]];
  return {
    updated: view.updated.length,
    candidates: candidates.slice(0, Math.max(0, limits.limit)),
    candidateCount: candidates.length,
    failed: failed.slice(0, REASONS_SHOWN),
    failedCount: failed.length,
    held: held.slice(0, REASONS_SHOWN),
    heldCount: held.length,
    blocked: blocked.slice(0, REASONS_SHOWN),
    blockedCount: blocked.length,
  };
}
