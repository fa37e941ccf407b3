/** The nodes that a rollout leaves out, and why: those that the view shows, and those that it cannot show yet. */

import type { FailedNode, NamedReason } from '../core/rollout/index';
import type { Rollout } from './rollout-state';

export function failedReasons(rollout: Rollout): readonly NamedReason[] {
  const counts = (node: string) => countsAsFailed(rollout, node);
  const shown = [
    ...(rollout.view?.failed ?? []).filter(({ node }) => counts(node)),
    ...shownInFlight(rollout).filter((one) => counts(one.node) || isOwnEnd(rollout, one)),
  ];
  const known = new Set(shown.map(({ node }) => node));
  const own = [...rollout.failed.values()].filter(({ node }) => !known.has(node) && counts(node));
  return [
    ...shown.map(({ node, reason }) => ({ node, reason })),
    ...own.map(({ node, reason = 'failed' }) => ({ node, reason })),
  ];
}

/** Whether a failure that is shown, or was reported, is still the last word about the node. */
function countsAsFailed(rollout: Rollout, node: string): boolean {
  return !rollout.isBeingTried(node) || isYetToAnswer(rollout, node);
}

/** Their updates were under way when the look was made, by what the rollout knew. */
function shownInFlight({ view }: Rollout): readonly FailedNode[] {
  return view?.failedInFlight ?? [];
}

/**
 * The very update that is under way there has given the node back, before it has said so: what its end makes room for
 * is no room for another one to try the config.
 */
function isOwnEnd({ children, retry }: Rollout, { node, givenBackBy }: FailedNode): boolean {
  if (givenBackBy === undefined || retry.has(node)) return false;
  return children.get(node)?.runId === givenBackBy;
}

/** Whether the update that is under way there has ended as failed, as its Node shows, and has yet to report it. */
export function hasGivenBackFailed(rollout: Rollout, node: string): boolean {
  return shownInFlight(rollout).some((one) => one.node === node && isOwnEnd(rollout, one));
}

/** It ran before it was asked to report here: it may be the one that has failed, or have ended since. */
function isYetToAnswer({ children, retry }: Rollout, node: string): boolean {
  return children.get(node)?.adopting === true && !retry.has(node);
}

/** Also those beyond the list. */
export function failedCount(rollout: Rollout): number {
  const { view } = rollout;
  const beyond = (view?.failedCount ?? 0) - (view?.failed.length ?? 0);
  return failedReasons(rollout).length + Math.max(0, beyond);
}

/** Failed before, and told to be tried again: nobody knows yet whether they would fail once more. */
export function triedAgain(rollout: Rollout): readonly string[] {
  const leftOut = new Set(
    [...failedReasons(rollout), ...heldReasons(rollout)].map(({ node }) => node),
  );
  return [...rollout.triedAgain].filter((node) => {
    // The word of a person lasts until that try has ended, and lets the node go until then. One whose try ended
    // without a verdict is as any other: it would keep itself waiting.
    return rollout.retry.has(node) && !leftOut.has(node);
  });
}

/** Those that never were within reach since they joined: they do not count against the config. */
export function unheardCount(rollout: Rollout): number {
  const { unheardCount: shown = 0, unheard = [] } = rollout.view ?? {};
  // Those that are being tried, or are done by now, are not counted as failed either.
  const others = unheard.filter((node) => !countsAsFailed(rollout, node)).length;
  return Math.min(shown - others, failedCount(rollout));
}

export function heldReasons(rollout: Rollout): readonly NamedReason[] {
  const shown = (rollout.view?.held ?? []).filter(({ node }) => !rollout.isBeingTried(node));
  const known = new Set(shown.map(({ node }) => node));
  const own = [...rollout.heldByUs].filter(([node]) => !known.has(node));
  return [...shown, ...own.map(([node, reason]) => ({ node, reason }))];
}
