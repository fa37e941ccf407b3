/**
 * The join tokens as they are stored at this moment. The watch that feeds the gate may be behind without
 * anybody knowing, and Ignition takes a 401 for final.
 */

import type { JoinTokenRecord } from '../core/join';
import { createAddressLimit, type LimitSettings } from './join-limit';
import { within } from './within';

/** Reads of all tokens: whoever guesses makes no load on the API server of it. */
const READ_LIMIT: LimitSettings = { burst: 5, perSecond: 1 / 2, maxAddresses: 1 };

/** More than the pause between two reads, and well below the time after which Ignition asks anew. */
const PATIENCE_MS = 5_000;

export interface TokensNowOptions {
  /** Of the API server, and not out of a cache. */
  readonly read: () => Promise<ReadonlyMap<string, JoinTokenRecord>>;
  /** Milliseconds of a clock that never goes back; the default is the process'. */
  readonly clock?: () => number;
}

/**
 * What is returned gives the tokens of a read that begins after it is called: one read for all who ask
 * until it begins, one after the other, and no more than one every two seconds when it goes on.
 *
 * It rejects with `ApiUnavailable`, or what else the read says, and when that takes too long.
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
    for (let wait = limit.take(''); wait > 0; wait = limit.take('')) await seconds(wait);
    next = undefined;
    return read();
  }

  return () => {
    if (next === undefined) {
      next = readInTurn(earlier);
      // Those who wait for it hear why it failed.
      earlier = next.catch(() => undefined);
    }
    return within(PATIENCE_MS, next);
  };
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, count * 1_000).unref();
  });
}
