/** Whether an attempt may still write: it may have been given up while its process stood still. */

import { fail } from '../../core/errors';
import type { ClusterPorts } from '../ports';

/**
 * A local step is part of a workflow task. The server gives a task to another worker after ten
 * seconds, and that one decides for itself; until then a step of the task is this one's.
 */
const DECISION_HOLDS_MS = 8_000;

/**
 * Captures when the attempt began, and returns the check to make right before each write. It asks the
 * clock, too: a process that stood still may write before its timers tell it that the time is over,
 * and by then another worker may have put the node back in service. What is written in between the
 * API server refuses, because every write names the version of the Node that it was decided on.
 *
 * @param decidedAt - workflow time of the decision for a step inside a workflow task, RFC 3339
 * @throws (the check) the reason of the cancellation, or `Conflict`
 */
export function whileWanted(
  ports: Pick<ClusterPorts, 'run' | 'now'>,
  { node, decidedAt }: { readonly node: string; readonly decidedAt?: string },
): () => void {
  const { signal, attemptMs } = ports.run();
  const beganAt = ports.now();
  const ends = [
    ...(attemptMs === undefined ? [] : [beganAt + attemptMs]),
    ...(decidedAt === undefined ? [] : [Date.parse(decidedAt) + DECISION_HOLDS_MS]),
  ];
  return () => {
    signal.throwIfAborted();
    if (ends.every((end) => ports.now() <= end)) return;
    throw fail('Conflict', `this attempt to change node ${node} took too long and is given up`, {
      node,
    });
  };
}
