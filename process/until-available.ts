/** Waits for an absent server without limit, with one log line. */

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, type Backoff } from '../core/backoff';
import { failureName, messageOf } from '../core/errors';
import type { Logger } from './logging';

const BACKOFF: Backoff = { firstMs: 250, maxMs: 5_000 };

/**
 * Repeats until success or abort.
 *
 * @param what - the server: `Temporal at 127.0.0.1:7233`
 * @param isHopeless - failures that waiting does not fix; they are thrown
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
