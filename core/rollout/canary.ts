/** The first nodes that try a config are alone until they are verified. */

import type { ResolvedPolicy } from '../pool/types';

/** How many nodes may try a config that is not proven yet, and which ones do. */
export interface CanaryLimit {
  /** At least 1. */
  readonly slots: number;
  /** Nodes that were given a slot for this config, or that an update to it has left half done. */
  readonly trying: readonly string[];
}

export interface CanaryInput {
  readonly policy: Pick<ResolvedPolicy, 'canaryNodes'>;
  /** Nodes that the cluster view shows verified on the config, however they got there. */
  readonly updated: number;
  /** Which ones, while they are few; absent = they are many. */
  readonly updatedNodes?: readonly string[];
  /** Nodes that reported so to this rollout; the view may not have seen them yet. */
  readonly reported?: { readonly count: number; readonly nodes: readonly string[] };
  /** As in `CanaryLimit`; not those that still finish an earlier config. */
  readonly trying: readonly string[];
}

/**
 * The limit while fewer than `canary.nodes` nodes are verified on the config; undefined once it is
 * proven, or when the policy asks for no canary. A canary that fails leaves its place to the next
 * node: what stops a bad config is the failure threshold.
 */
export function canaryLimit(input: CanaryInput): CanaryLimit | undefined {
  const missing = input.policy.canaryNodes - verifiedCount(input);
  return missing > 0 ? { slots: missing, trying: input.trying } : undefined;
}

/** While they are few they are counted by name, so that none counts twice and none is missed. */
function verifiedCount({ updated, updatedNodes, reported }: CanaryInput): number {
  const counted = Math.max(updated, reported?.count ?? 0);
  if (updatedNodes === undefined || reported === undefined) return counted;
  return Math.max(counted, new Set([...updatedNodes, ...reported.nodes]).size);
}
