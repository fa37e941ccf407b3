/** How many node updates run ahead of their slots, so that downloads are over when a slot is free. */

import type { ResolvedPolicy } from '../pool/types';

export interface PrepareAheadInput {
  readonly policy: Pick<ResolvedPolicy, 'prepareAhead'>;
  readonly maxUnavailable: number;
  /** Slots that are free now (`freeSlots`). */
  readonly freeSlots: number;
  /** Node updates under way that hold no slot: preparing, or prepared and waiting. */
  readonly withoutSlot: number;
}

/**
 * How many more node updates may be started now. There are never more without a slot than
 * `prepareAhead` (default: as many as maxUnavailable), or than there are free slots when the policy
 * asks for less, so that `prepareAhead: 0` still rolls.
 */
export function startable(input: PrepareAheadInput): number {
  const ahead = prepareAheadLimit(input.policy, input.maxUnavailable);
  return Math.max(0, Math.max(ahead, input.freeSlots) - input.withoutSlot);
}

export function prepareAheadLimit(
  { prepareAhead }: Pick<ResolvedPolicy, 'prepareAhead'>,
  maxUnavailable: number,
): number {
  return prepareAhead ?? maxUnavailable;
}
