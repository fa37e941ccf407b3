import { countedAs, plainAddress } from './join-networks';

export interface LimitSettings {
  readonly burst: number;
  readonly perSecond: number;
  /** The address that was quiet for longest is forgotten first. */
  readonly maxAddresses: number;
}

/**
 * 2,000 machines behind one address that boot at once stay far below it; one in a loop does not get
 * 750 KB a thousand times a second.
 */
export const GOOD_LIMIT: LimitSettings = { burst: 10_000, perSecond: 100, maxAddresses: 10_000 };

/** A rack with an old token gets its refusals; guesses get two a second. */
export const FAILED_LIMIT: LimitSettings = { burst: 100, perSecond: 2, maxAddresses: 10_000 };

/** Probes of balancers, and the like. */
export const OTHER_LIMIT: LimitSettings = { burst: 1_000, perSecond: 20, maxAddresses: 10_000 };

/** One log line a minute about an address. */
export const NAMED_LIMIT: LimitSettings = { burst: 1, perSecond: 1 / 60, maxAddresses: 1_000 };

export interface AddressLimit {
  /** 0, or the seconds to wait. Any spelling of the address. */
  take(address: string): number;
  readonly size: number;
}

interface Bucket {
  readonly left: number;
  readonly at: number;
}

/** @param now - monotonic, milliseconds */
export function createAddressLimit(settings: LimitSettings, now: () => number): AddressLimit {
  const { burst, perSecond, maxAddresses } = settings;
  // The first entry of a Map asked longest ago.
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
