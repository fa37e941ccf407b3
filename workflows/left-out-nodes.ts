/** The nodes that a rollout leaves out, and why: those that the view shows, and those that it cannot show yet. */

import type { NamedReason } from '../core/rollout/index';
import type { Rollout } from './rollout-state';

export function failedReasons(rollout: Rollout): readonly NamedReason[] {
  const shown = (rollout.view?.failed ?? []).filter(({ node }) => !rollout.isBeingTried(node));
  const known = new Set(shown.map(({ node }) => node));
  const own = [...rollout.failed.values()].filter(
    ({ node }) => !known.has(node) && !rollout.isBeingTried(node),
  );
  return [...shown, ...own.map(({ node, reason = 'failed' }) => ({ node, reason }))];
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
  const others = unheard.filter((node) => rollout.isBeingTried(node)).length;
  return Math.min(shown - others, failedCount(rollout));
}

export function heldReasons(rollout: Rollout): readonly NamedReason[] {
  const shown = (rollout.view?.held ?? []).filter(({ node }) => !rollout.isBeingTried(node));
  const known = new Set(shown.map(({ node }) => node));
  const own = [...rollout.heldByUs].filter(([node]) => !known.has(node));
  return [...shown, ...own.map(([node, reason]) => ({ node, reason }))];
}
