/** How often one address may ask for first configs, and for anything else. */

import { countedAs, plainAddress } from './join-networks';

export interface LimitSettings {
  /** So many at once. */
  readonly burst: number;
  /** And then so many per second. */
  readonly perSecond: number;
  /** How many addresses are remembered; the one that was quiet for longest is forgotten first. */
  readonly maxAddresses: number;
}

/**
 * 2,000 machines behind one address that boot at the same moment, each asking several times, stay far
 * below it; one machine that asks in a loop does not get 750 KB a thousand times a second.
 */
export const GOOD_LIMIT: LimitSettings = { burst: 10_000, perSecond: 100, maxAddresses: 10_000 };

/** Enough for a rack with an old token to be told so; guesses get two a second. */
export const FAILED_LIMIT: LimitSettings = { burst: 100, perSecond: 2, maxAddresses: 10_000 };

/** Probes of balancers, and whatever else asks for no config: its answers are empty, and so is its use. */
export const OTHER_LIMIT: LimitSettings = { burst: 1_000, perSecond: 20, maxAddresses: 10_000 };

/** What is named in the log is named once a minute. */
export const NAMED_LIMIT: LimitSettings = { burst: 1, perSecond: 1 / 60, maxAddresses: 1_000 };

export interface AddressLimit {
  /** Takes one; or the seconds to wait for it, more than 0. However the address is spelled. */
  take(address: string): number;
  /** Addresses that are remembered. */
  readonly size: number;
}

interface Bucket {
  readonly left: number;
  readonly at: number;
}

/** @param now - milliseconds of a clock that never goes back */
export function createAddressLimit(settings: LimitSettings, now: () => number): AddressLimit {
  const { burst, perSecond, maxAddresses } = settings;
  // A Map remembers the order of insertion: the first entry is the one that asked longest ago.
  const buckets = new Map<string, Bucket>();
  return {
    get size() {
      return buckets.size;
    },
    take(address) {
      const key = countedAs(plainAddress(address));
      const at = now();
      const known = buckets.get(key) ?? { left: burst, at };
      const left = Math.min(burst, known.left + ((at - known.at) / 1000) * perSecond);
      const isGranted = left >= 1;
      buckets.delete(key);
      buckets.set(key, { left: isGranted ? left - 1 : left, at });
      for (const oldest of buckets.keys()) {
        if (buckets.size <= maxAddresses) break;
        buckets.delete(oldest);
      }
      return isGranted ? 0 : Math.ceil((1 - left) / perSecond);
    },
  };
}
