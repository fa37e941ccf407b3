/** The watch behind the gate may lag, and a 401 is final for Ignition. */

import { setTimeout as delay } from 'node:timers/promises';
import type { JoinTokenRecord } from '../core/join';
import { createAddressLimit, type LimitSettings } from './join-limit';
import { within } from './within';

/** Guessed tokens must not load the API server. */
const READ_LIMIT: LimitSettings = { burst: 5, perSecond: 1 / 2, maxAddresses: 1 };

/** Longer than the pause between two reads, and well below Ignition's timeout. */
const PATIENCE_MS = 5_000;

interface TokensNowOptions {
  /** Reads from the API server, not from a cache. */
  readonly read: () => Promise<ReadonlyMap<string, JoinTokenRecord>>;
  /** Monotonic, milliseconds. */
  readonly clock?: () => number;
}

/**
 * Returns the tokens of a read that begins after the call; callers share the next read, at most one
 * in two seconds. Rejects with `ApiUnavailable` or the error of the read.
 */
export function createTokensNow({
  read,
  clock = () => performance.now(),
}: TokensNowOptions): () => Promise<ReadonlyMap<string, JoinTokenRecord>> {
  const limit = createAddressLimit(READ_LIMIT, clock);
  let next: ReturnType<typeof read> | undefined;
  let earlier: Promise<unknown> = Promise.resolve();

  async function readInTurn(before: Promise<unknown>): ReturnType<typeof read> {
    await before;
    for (let wait = limit.take(''); wait > 0; wait = limit.take(''))
      await delay(wait * 1_000, undefined, { ref: false });
    next = undefined;
    return read();
  }

  return () => {
    if (next === undefined) {
      next = readInTurn(earlier);
      // The waiting callers get the error.
      earlier = next.catch(() => undefined);
    }
    return within(PATIENCE_MS, next);
  };
}
