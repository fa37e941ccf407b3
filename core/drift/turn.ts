/**
 * Whose turn it is to reload or restart services for a repair of drift. Hosts repair by themselves, and a file that
 * somebody changes everywhere must not take the kubelets of a whole pool down at once.
 *
 * Time decides, so that several servers say the same without knowing of each other: whoever had drifted when a window
 * began has a place in it, by name, and the places have one window after the other, `maxUnavailable` at a time. Who drifts
 * in the middle of a window has none in it, and who is repaired keeps the place.
 */

/**
 * Milliseconds. A repair begins in the first half of a window and has the second half to end: a service may take 100 s
 * to come up and is watched for 5 s more. The first half is parted in two:
 */
export const TURN = {
  window: 240_000,
  /** So early the host must ask. It asks every 60 s while it is drifted, so each turn finds it asking at least once. */
  asked: 90_000,
  /** So long after it asked it may begin. */
  begun: 30_000,
  /** So long before the window it must have drifted: until then each server has heard of it. */
  known: 10_000,
} as const;

/** A node of the pool. */
export interface TurnMember {
  readonly name: string;
  readonly isInService: boolean;
  /** Out of service, or on its way to be. */
  readonly takesSlot: boolean;
  /** Whether its disk differs, and since when it does or does not, in milliseconds since 1970; absent = it never did. */
  readonly drift?: { readonly isDrifted: boolean; readonly since: number };
}

export interface TurnQuestion {
  /** Who asks. */
  readonly node: string;
  /** Every node of its pool, itself included. */
  readonly members: readonly TurnMember[];
  /** Nodes of the pool; 0 = nobody knows. */
  readonly maxUnavailable: number;
  /** Milliseconds since 1970, the same on all servers. */
  readonly now: number;
}

/**
 * Whether a host may disturb its services now. At no time may more do so, or still be at it, than `maxUnavailable`
 * leaves beside the nodes that are out of service. A node that is out of service itself takes nothing more out.
 */
export function mayDisturb({ node, members, maxUnavailable, now }: TurnQuestion): boolean {
  const asking = members.find(({ name }) => name === node);
  if (asking === undefined) return false;
  if (!asking.isInService || maxUnavailable >= members.length) return true;
  const out = members.filter(({ name, takesSlot }) => takesSlot && name !== node);
  const room = maxUnavailable - out.length;
  const window = Math.floor(now / TURN.window);
  if (room < 1 || now % TURN.window >= TURN.asked) return false;
  const places = members
    .filter((member) => hadDrifted(member, window * TURN.window - TURN.known))
    .map(({ name }) => name)
    .sort();
  const place = places.indexOf(node);
  if (place < 0) return false;
  const count = places.length;
  // Of those whose window it is. Where there is less room than they are, they take turns, too.
  const own = (place - ((window * maxUnavailable) % count) + count) % count;
  const size = Math.min(maxUnavailable, count);
  return own < size && (own + Math.floor(window / count)) % size < room;
}

/** Who was repaired since had drifted then. */
function hadDrifted({ drift }: TurnMember, then: number): boolean {
  if (drift === undefined) return false;
  return drift.isDrifted ? drift.since < then : drift.since >= then;
}
