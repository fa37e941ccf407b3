/**
 * Updates that a rollout has not heard of for long: one that was terminated from outside never reports. This run
 * hears of the end of those that it started itself; which of the others still run is asked of Temporal.
 */

import { log, workflowInfo } from '@temporalio/workflow';
import { isCancellation } from './contracts/failures';
import { findRunningUpdates } from './pool-steps';
import type { Rollout } from './rollout-state';
import { SILENCE_MS } from './updates-under-way';

/** When the next one is due. Reports of other updates do not put it off. */
export function checkInMs(rollout: Rollout): number | undefined {
  if (rollout.isAskingSilent) return undefined;
  const signs = rollout.unwatched().map(({ since }) => Date.parse(since));
  if (signs.length === 0) return undefined;
  const lastSign = Math.max(rollout.lastChecked, Math.min(...signs));
  return Math.max(1, lastSign + SILENCE_MS - Date.now());
}

/**
 * Asks for all when one was silent for long, and for those of this run, too, in a long silence of everybody.
 *
 * @param heard - whether anything was heard since the last look
 */
export function checkUpdates(rollout: Rollout, heard: boolean): void {
  const now = Date.now();
  if (!heard && now - rollout.lastHeard >= SILENCE_MS) {
    rollout.lastHeard = now;
    reconcile(rollout, [...rollout.children.keys()]);
    return;
  }
  const unwatched = rollout.unwatched();
  const isLong = (since: string): boolean => now - Date.parse(since) >= SILENCE_MS;
  const isSilent = unwatched.some(({ since }) => isLong(since));
  if (!isSilent || now - rollout.lastChecked < SILENCE_MS) return;
  // All of them: who was heard a moment later would be asked for a whole minute later.
  reconcile(
    rollout,
    unwatched.map(({ node }) => node),
  );
}

function reconcile(rollout: Rollout, asked: readonly string[]): void {
  if (rollout.isAskingSilent) return;
  rollout.lastChecked = Date.now();
  const nodes = asked.filter((node) => !rollout.starting.has(node));
  if (nodes.length === 0) return;
  void askAside(rollout, nodes);
}

/**
 * Slots are given meanwhile: with hundreds of updates, or where Temporal is slow, the answer takes as long as many
 * of them. An update that began after the question is none of those that it is about.
 */
async function askAside(rollout: Rollout, nodes: readonly string[]): Promise<void> {
  const lives = new Map(nodes.map((node) => [node, rollout.lifeOf(node)]));
  rollout.isAskingSilent = true;
  try {
    await ask(rollout, nodes, (node) => rollout.lifeOf(node) === lives.get(node));
  } catch (error) {
    // Its rollout ends, and asks for itself then.
    if (!isCancellation(error)) throw error;
  } finally {
    rollout.isAskingSilent = false;
    // It has kept the rollout from going on in a new run.
    if (workflowInfo().continueAsNewSuggested) rollout.touch();
  }
}

async function ask(
  rollout: Rollout,
  nodes: readonly string[],
  isMeant: (node: string) => boolean,
): Promise<void> {
  try {
    const running = new Set(await findRunningUpdates(nodes));
    for (const node of nodes) {
      if (!running.has(node) && isMeant(node)) rollout.vanished(node);
    }
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('it is not known which updates still run', { error });
  }
}
