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
export const REPAIR_WINDOW = {
  window: 240_000,
  /** So early the host must ask. It asks every 60 s while it is drifted, so each turn finds it asking at least once. */
  asked: 90_000,
  /** So long after it asked it may begin. */
  begun: 30_000,
  /** So long before the window it must have drifted: until then each server has heard of it. */
  known: 10_000,
} as const;

/** Whether the disk of a node differs. */
export interface DriftedMember {
  readonly name: string;
  /** Since when it does or does not, in milliseconds since 1970; absent = it never did. */
  readonly drift?: { readonly isDrifted: boolean; readonly since: number };
}

/** Who has a place in a window, and which: whoever had drifted shortly before it began. */
export type Places = ReadonlyMap<string, number>;

/** How a pool stands when one of its hosts asks. */
export interface RepairRoom {
  readonly isInService: boolean;
  /** How many of the other nodes are out of service, or on their way to be. */
  readonly othersOut: number;
  readonly memberCount: number;
  /** Nodes of the pool; 0 = nobody knows. */
  readonly maxUnavailable: number;
}

/**
 * Whether a host may disturb its services now. At no time may more do so, or still be at it, than `maxUnavailable`
 * leaves beside the nodes that are out of service. A node that is out of service itself takes nothing more out.
 *
 * @param now - milliseconds since 1970, the same on all servers
 * @param placesNow - only asked for when the hour is right
 */
export function mayRepairNow(
  node: string,
  { isInService, othersOut, memberCount, maxUnavailable }: RepairRoom,
  now: number,
  placesNow: () => Places,
): boolean {
  if (!isInService || maxUnavailable >= memberCount) return true;
  const room = maxUnavailable - othersOut;
  if (room < 1 || now % REPAIR_WINDOW.window >= REPAIR_WINDOW.asked) return false;
  const places = placesNow();
  const place = places.get(node);
  if (place === undefined) return false;
  const window = windowOf(now);
  const count = places.size;
  // Of those whose window it is. Where there is less room than they are, they take turns, too.
  const own = (place - ((window * maxUnavailable) % count) + count) % count;
  const size = Math.min(maxUnavailable, count);
  return own < size && (own + Math.floor(window / count)) % size < room;
}

/** The places of the window in which it is this time. */
export function placesIn(members: readonly DriftedMember[], now: number): Places {
  const then = windowOf(now) * REPAIR_WINDOW.window - REPAIR_WINDOW.known;
  const names = members.filter((member) => hadDrifted(member, then)).map(({ name }) => name);
  return new Map(names.sort().map((name, place) => [name, place]));
}

/** Number of the window in which it is this time. */
export function windowOf(now: number): number {
  return Math.floor(now / REPAIR_WINDOW.window);
}

/** Who was repaired since had drifted then. */
function hadDrifted({ drift }: DriftedMember, then: number): boolean {
  if (drift === undefined) return false;
  return drift.isDrifted ? drift.since < then : drift.since >= then;
}
