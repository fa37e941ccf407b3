/**
 * Age of the cached objects. A small request is sent between the bookmarks of a quiet watch, one a
 * minute.
 */

import { messageOf } from '../../core/errors';

const INTERVAL_MS = 10_000;
/** The API server sends a bookmark each minute, or a little later. */
const QUIET_MS = 65_000;

interface ApiContact {
  readonly ageSeconds: () => number;
}

/**
 * Until the signal aborts.
 *
 * @param ask - a small request, which throws when the API server does not answer
 * @param options.silentMs - time since the last event of the most silent watch
 */
export function keepContact(
  ask: () => Promise<unknown>,
  options: {
    readonly signal: AbortSignal;
    readonly log: { warn(fields: object, message: string): void };
    readonly silentMs: () => number;
    readonly clock?: () => number;
  },
): ApiContact {
  const { signal, log, silentMs, clock = () => performance.now() } = options;
  let heardAt = clock();
  let isAway = false;
  const look = (): void => {
    const asked = clock();
    ask().then(
      () => {
        // Answers may arrive out of order.
        heardAt = Math.max(heardAt, asked);
        isAway = false;
      },
      (error: unknown) => {
        if (!isAway && !signal.aborted) {
          log.warn({ reason: messageOf(error) }, 'API server away: serving cached objects');
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
    ageSeconds: () => {
      const silent = silentMs();
      return Math.max(0, clock() - heardAt, silent > QUIET_MS ? silent : 0) / 1000;
    },
  };
}
