/** What a rollout waits for, by its PoolRollout: only the words are the product's. */

import type { ObservedRollout } from './observed';

/**
 * A rollout whose updates all wait while there is room names no blocker; neither does one that says
 * that there is none, and names fewer nodes than may be out of service.
 *
 * @param updates - open ones of its pool
 */
export function excuseOfRollout(
  rollout: ObservedRollout | undefined,
  updates: number,
): string | undefined {
  if (rollout === undefined) return undefined;
  const { blocker, grants, waiting } = rollout;
  if (grants.length > 0 || updates > waiting) return blocker ?? 'its node updates';
  return blocker === undefined || isFalselyFull(blocker) ? undefined : blocker;
}

const FULL =
  /(?:waiting for room: maxUnavailable is|waiting for room: at most|no room: [^:]* of at most) (\d+)/;
const OUT = /(?:out of service|unavailable): ([^;]+)/;
const MORE = / and (\d+) more$/;

/** `waiting for room: maxUnavailable is 3; out of service: a, b`. */
function isFalselyFull(sentence: string): boolean {
  const plain = withoutReasons(sentence);
  const limit = Number(FULL.exec(plain)?.[1] ?? 0);
  const list = OUT.exec(plain)?.[1]?.trim() ?? '';
  const more = Number(MORE.exec(list)?.[1] ?? 0);
  const named = list === '' ? 0 : list.replace(MORE, '').split(', ').length;
  return named + more < limit;
}

/** Reasons stand in parentheses, which may be nested. */
function withoutReasons(sentence: string): string {
  const shorter = sentence.replace(/ ?\([^()]*\)/g, '');
  return shorter === sentence ? sentence : withoutReasons(shorter);
}
