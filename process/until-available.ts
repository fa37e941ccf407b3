/** Waiting for a server that is away: forever, with one line that says so. */

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, type Backoff } from '../core/backoff';
import { failureName, messageOf } from '../core/errors';
import type { Logger } from './logging';

const BACKOFF: Backoff = { firstMs: 250, maxMs: 5_000 };

/**
 * Tries until it works or the signal aborts. Says once that it waits, and once that it is over; of the
 * Kubernetes API its client says both.
 *
 * @param what - whom it waits for: `Temporal at 127.0.0.1:7233`
 * @param isHopeless - failures that no waiting mends; they are thrown
 */
export async function untilAvailable<T>(
  what: string,
  attempt: () => Promise<T>,
  options: {
    readonly log: Logger;
    readonly signal: AbortSignal;
    readonly isHopeless?: (error: unknown) => boolean;
  },
): Promise<T> {
  const { log, signal } = options;
  let waited = false;
  let isSaid = false;
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted();
    try {
      const result = await attempt();
      if (waited && !isSaid) log.info({ server: what }, 'server answers');
      return result;
    } catch (error) {
      if (signal.aborted || options.isHopeless?.(error) === true) throw error;
      const fields = { server: what, reason: messageOf(error) };
      isSaid = failureName(error) === 'ApiUnavailable';
      if (waited || isSaid) log.debug(fields, 'still waiting for server');
      else log.warn(fields, 'waiting for server');
      waited = true;
      await delay(backoffMs(BACKOFF, failures) * (0.5 + Math.random()), undefined, { signal });
    }
  }
}
