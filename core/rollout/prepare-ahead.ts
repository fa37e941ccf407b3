/** How many node updates run ahead of their grants, so that downloads are over when there is room. */

import type { ResolvedPolicy } from '../pool/types';

/** As many as `maxUnavailable`, unless the policy says otherwise. */
export function prepareAheadLimit(
  { prepareAhead }: Pick<ResolvedPolicy, 'prepareAhead'>,
  maxUnavailable: number,
): number {
  return prepareAhead ?? maxUnavailable;
}
