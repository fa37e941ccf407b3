/** Request limits per address. */

import { countedAs, plainAddress } from './join-networks';

export interface LimitSettings {
  readonly burst: number;
  readonly perSecond: number;
  /** Addresses that are remembered; the one that was quiet for longest is forgotten first. */
  readonly maxAddresses: number;
}

/**
 * 2,000 machines behind one address that boot at once and each ask several times stay far below it;
 * one machine in a loop does not get 750 KB a thousand times a second.
 */
export const GOOD_LIMIT: LimitSettings = { burst: 10_000, perSecond: 100, maxAddresses: 10_000 };

/** A rack with an old token gets its refusals; guesses get two a second. */
export const FAILED_LIMIT: LimitSettings = { burst: 100, perSecond: 2, maxAddresses: 10_000 };

/** Probes of balancers and other requests that are not for configs. */
export const OTHER_LIMIT: LimitSettings = { burst: 1_000, perSecond: 20, maxAddresses: 10_000 };

/** Log lines about one address: one a minute. */
export const NAMED_LIMIT: LimitSettings = { burst: 1, perSecond: 1 / 60, maxAddresses: 1_000 };

export interface AddressLimit {
  /** Takes one and returns 0, or returns the seconds to wait. Any spelling of the address. */
  take(address: string): number;
  /** Addresses that are remembered. */
  readonly size: number;
}

interface Bucket {
  readonly left: number;
  readonly at: number;
}

/** @param now - milliseconds of a monotonic clock */
export function createAddressLimit(settings: LimitSettings, now: () => number): AddressLimit {
  const { burst, perSecond, maxAddresses } = settings;
  // A Map keeps the order of insertion: the first entry asked longest ago.
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
