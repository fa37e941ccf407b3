/**
 * How old what is known of the cluster may be. Watches say something once a minute while nothing changes, so
 * a small question is asked in between; but its answer is no word for a watch that says nothing at all.
 */

import { messageOf } from '../../core/errors';

const INTERVAL_MS = 10_000;
/** The API server's bookmark comes each minute; a little later on a busy one. */
const QUIET_MS = 65_000;

export interface ApiContact {
  readonly ageSeconds: () => number;
}

/**
 * Asks every ten seconds until the signal aborts.
 *
 * @param ask - a small request, which throws when the API server does not answer
 * @param options.silentMs - for how long the most silent of the watches has said nothing
 */
export function keepContact(
  ask: () => Promise<unknown>,
  options: {
    readonly signal: AbortSignal;
    readonly log: { warn(fields: object, message: string): void };
    readonly silentMs: () => number;
    /** Milliseconds of a clock that never goes back. */
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
    ageSeconds: () => {
      const silent = silentMs();
      return Math.max(0, clock() - heardAt, silent > QUIET_MS ? silent : 0) / 1000;
    },
  };
}
