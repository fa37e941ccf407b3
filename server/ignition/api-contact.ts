/** How long ago the API server was last heard of: watches say nothing while nothing changes. */

import { messageOf } from '../../core/errors';

const INTERVAL_MS = 10_000;

export interface ApiContact {
  readonly ageSeconds: () => number;
}

/**
 * Asks every ten seconds until the signal aborts.
 *
 * @param ask - a small request, which throws when the API server does not answer
 */
export function keepContact(
  ask: () => Promise<unknown>,
  options: {
    readonly signal: AbortSignal;
    readonly log: { warn(fields: object, message: string): void };
    /** Milliseconds of a clock that never goes back. */
    readonly clock?: () => number;
  },
): ApiContact {
  const { signal, log, clock = () => performance.now() } = options;
  let heardAt = clock();
  let isAway = false;
  const look = (): void => {
    const asked = clock();
    ask().then(
      () => {
        // Answers may overtake each other.
        heardAt = Math.max(heardAt, asked);
        isAway = false;
      },
      (error: unknown) => {
        if (!isAway && !signal.aborted) {
          log.warn({ reason: messageOf(error) }, 'API server away: serving what was seen before');
        }
        isAway = true;
      },
    );
  };
  const timer = setInterval(look, INTERVAL_MS);
  timer.unref();
  look();
  signal.addEventListener('abort', () => clearInterval(timer));
  return {
    ageSeconds: () => Math.max(0, (clock() - heardAt) / 1000),
  };
}
