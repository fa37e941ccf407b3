/** Whether an attempt may still write: it may have been given up while its process was paused. */

import { fail } from '../../core/errors';
import type { ClusterPorts } from './ports';

/**
 * Call at the start of the attempt; make the returned check before each write. It also reads the
 * clock, because a resumed process may write before its timers fire.
 *
 * @param withinMs - of an attempt that has waited as long as it took: from here on
 *
 * @throws (the check) the reason of the cancellation, or `Conflict`
 */
export function whileWanted(
  ports: Pick<ClusterPorts, 'run' | 'now'>,
  subject: Subject,
  withinMs = Infinity,
): () => void {
  const { signal, attemptMs = Infinity } = ports.run();
  const endsAt = ports.now() + Math.min(attemptMs, withinMs);
  return () => {
    signal.throwIfAborted();
    if (ports.now() <= endsAt) return;
    throw givenUp(subject, 'took too long and is given up');
  };
}

/**
 * For an object without a mark of the run. A process that was paused before the attempt's first
 * line does not know its age, so Temporal is asked.
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
    if (!(await isAwaited())) throw givenUp(subject, 'was given up');
    throwIfGivenUp();
  };
}

type Subject = { readonly node: string } | { readonly pool: string };

function givenUp(subject: Subject, how: string): Error {
  const [kind, name] = 'node' in subject ? ['node', subject.node] : ['pool', subject.pool];
  return fail('Conflict', `this attempt to change ${kind} ${name} ${how}`, { [kind]: name });
}
