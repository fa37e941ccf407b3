/**
 * Whose turn it is to reload or restart services for a repair of drift. Hosts repair by themselves, and a file that
 * somebody changes everywhere must not take the kubelets of a whole pool down at once.
 *
 * Time decides, so that several servers say the same without knowing of each other: the members of a pool, by name, are
 * cut into groups of `maxUnavailable`, and the groups have one window after the other. All members have a place, not
 * those alone that have drifted: whose disk differs changes in the middle of a window, and no server knows it at once.
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
} as const;

/** A node of the pool. */
export interface TurnMember {
  readonly name: string;
  readonly isInService: boolean;
  /** Out of service, or on its way to be. */
  readonly takesSlot: boolean;
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
 * leaves beside the nodes that are out of service. When those leave less than a group, its members take turns from
 * round to round. A node that is out of service itself takes nothing more out.
 */
export function mayDisturb({ node, members, maxUnavailable, now }: TurnQuestion): boolean {
  const own = members.find(({ name }) => name === node);
  if (own === undefined) return false;
  if (!own.isInService || maxUnavailable >= members.length) return true;
  const others = members.filter(({ name }) => name !== node);
  const room = maxUnavailable - others.filter(({ takesSlot }) => takesSlot).length;
  if (room < 1) return false;
  const place = others.filter(({ name }) => name < node).length;
  const group = Math.floor(place / maxUnavailable);
  const groups = Math.ceil(members.length / maxUnavailable);
  const window = Math.floor(now / TURN.window);
  if (window % groups !== group || now % TURN.window >= TURN.asked) return false;
  const round = Math.floor(window / groups);
  const size = Math.min(maxUnavailable, members.length - group * maxUnavailable);
  return (place + round) % size < room;
}
