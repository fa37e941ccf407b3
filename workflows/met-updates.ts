/**
 * Updates that work on nodes of the pool and are not this rollout's, as far as it knows. While one is at work its node may
 * go down at any moment, so it is met before anybody gets a slot: then it counts as the holder of one until it has answered.
 */

import { sleep } from '@temporalio/workflow';
import { isCancellation } from './contracts/failures';
import { adoptUpdate, attachTo, findRunningUpdates } from './pool-steps';
import type { Rollout } from './rollout-state';
import { aside } from './written-aside';

/** Which of them run could not be found out. */
const ASK_AGAIN = '30s';

/** Nodes that serve half done were moved here in the middle of an update, or that was lost: Temporal is asked which. */
export function meetHalfDone(rollout: Rollout): void {
  const { view, knows, ending, halfDone } = rollout;
  // Until all updates of the pool are known no slot is given, and all that run are met.
  if (view === undefined || knows !== 'all' || ending !== undefined) return;
  const seen = view.candidates.flatMap((one) =>
    one.halfDone === true && isStranger(rollout, one.node) ? [one.node] : [],
  );
  const nodes = halfDone.toMeet(seen);
  if (nodes.length === 0) return;
  halfDone.asking(nodes);
  const names = nodes.join(', ');
  aside(rollout, `it is not known whether updates of ${names} run`, meet(rollout, nodes));
}

function isStranger(rollout: Rollout, node: string): boolean {
  return !rollout.isOutOfQuestion(node) && !rollout.hasOrphanedSlot(node);
}

async function meet(rollout: Rollout, nodes: readonly string[]): Promise<void> {
  while (rollout.ending === undefined) {
    try {
      const running = new Set(await findRunningUpdates(nodes));
      for (const node of nodes) {
        rollout.halfDone.answered(node, running.has(node));
        if (running.has(node) && !rollout.children.has(node)) adoptUpdate(rollout, node);
      }
      rollout.touch();
      return;
    } catch (error) {
      if (isCancellation(error)) return;
      await sleep(ASK_AGAIN, { summary: 'asking again which updates run' });
    }
  }
}

/**
 * Nodes that were moved out of the pool are back in it before their updates have ended. Those were told to stop, and still
 * work on their nodes.
 */
export function meetReturned(rollout: Rollout, returned: readonly string[] = []): void {
  const back = returned.filter(
    (node) =>
      rollout.children.get(node)?.cancelling?.why === 'moved' && !rollout.starting.has(node),
  );
  if (back.length === 0) return;
  for (const node of back) {
    rollout.backInPool(node);
    attachTo(rollout, node);
  }
}
