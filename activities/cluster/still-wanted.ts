/** Whether an attempt may still write: it may have been given up while its process stood still. */

import { fail } from '../../core/errors';
import type { ClusterPorts } from '../ports';

/**
 * Captures when the attempt began, and returns the check to make right before each write. It asks the
 * clock, too: a process that stood still may write before its timers tell it that the time is over,
 * and by then another worker may have put the node back in service. What is written in between the
 * API server refuses, because every write names the version of the Node that it was decided on.
 *
 * @throws (the check) the reason of the cancellation, or `Conflict`
 */
export function whileWanted(
  ports: Pick<ClusterPorts, 'run' | 'now'>,
  subject: Subject,
): () => void {
  const { signal, attemptMs } = ports.run();
  const endsAt = attemptMs === undefined ? Infinity : ports.now() + attemptMs;
  return () => {
    signal.throwIfAborted();
    if (ports.now() <= endsAt) return;
    throw givenUp(
      subject,
      (what) => `this attempt to change ${what} took too long and is given up`,
    );
  };
}

/**
 * The same for an object that does not say whose turn it is. A process that stood still between the
 * receipt of a task and its first line believes that it has all its time, so Temporal is asked, too,
 * whether it still waits for this very attempt: when it does, whoever changes the object after that
 * makes the write conflict.
 *
 * @returns the check, to be made once the object was read
 * @throws (the check) the reason of the cancellation, `Conflict`, or `TemporalUnavailable`
 */
export function whileAwaited(
  ports: Pick<ClusterPorts, 'run' | 'now'>,
  subject: Subject,
): () => Promise<void> {
  const throwIfGivenUp = whileWanted(ports, subject);
  const { isAwaited } = ports.run();
  return async () => {
    throwIfGivenUp();
    if (!(await isAwaited())) {
      throw givenUp(subject, (what) => `nobody waits any more for this attempt to change ${what}`);
    }
    throwIfGivenUp();
  };
}

/** What an attempt wants to change. */
type Subject = { readonly node: string } | { readonly pool: string };

function givenUp(subject: Subject, sentence: (what: string) => string): Error {
  const [kind, name] = 'node' in subject ? ['node', subject.node] : ['pool', subject.pool];
  return fail('Conflict', sentence(`${kind} ${name}`), { [kind]: name });
}
