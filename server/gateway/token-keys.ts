/** The keys of task tokens, made of those of the payloads: a mounted Secret, the same for all replicas. */

import type { PayloadKeyFiles } from '../../process/temporal/payload-keys';

export interface TokenKeys {
  /** The newest that every replica knows. */
  signing(): Buffer;
  /** Those that count. Looks for new ones if `isUnknown`. */
  all(isUnknown?: boolean): readonly Buffer[];
}

const PURPOSE = 'slipway task token';

export function tokenKeys(keys: PayloadKeyFiles): TokenKeys {
  return {
    signing: () => keys.current().for(PURPOSE),
    all: (isUnknown) => keys.all(isUnknown).map((key) => key.for(PURPOSE)),
  };
}
