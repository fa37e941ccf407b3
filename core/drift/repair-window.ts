/**
 * Turns of hosts to reload or restart services for a repair: a file that is changed everywhere must
 * not take down the kubelets of a whole pool at once.
 *
 * Turns depend on time and names only, so that all servers agree. Nodes that had drifted when a
 * window began have a place in it, ordered by name; `maxUnavailable` places at a time have their
 * turn, one group per window. Later drift gets no place in the window, and a repaired node keeps
 * its place.
 */

/**
 * Milliseconds. A repair begins in the first half of a window and ends in the second: a service may
 * take 100 s to start and is watched for 5 s more. The first half has two parts:
 */
export const REPAIR_WINDOW = {
  window: 240_000,
  /**
   * The host must ask this early in the window. A drifted host asks every 60 s, so it asks at least
   * once per turn.
   */
  asked: 90_000,
  /** It may begin for this long after it asked. */
  begun: 30_000,
  /** It must have drifted this long before the window, so that each server knows. */
  known: 10_000,
} as const;

export interface DriftedMember {
  readonly name: string;
  /**
   * Since when the disk does or does not differ, in milliseconds since 1970; absent = it never did.
   */
  readonly drift?: { readonly isDrifted: boolean; readonly since: number };
}

/** Place by name, of nodes that had drifted shortly before the window began. */
export type Places = ReadonlyMap<string, number>;

/** How a pool stands when one of its hosts asks. */
interface RepairRoom {
  readonly isInService: boolean;
  /** How many other nodes are out of service, or about to be. */
  readonly othersOut: number;
  readonly memberCount: number;
  /** Nodes of the pool; 0 = unknown. */
  readonly maxUnavailable: number;
}

/**
 * Whether a host may disturb its services now: never more hosts at once than `maxUnavailable`
 * leaves beside the nodes out of service. A node that is out of service itself costs nothing more.
 *
 * @param now - milliseconds since 1970, the same on all servers
 * @param placesNow - called only when the time is right
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
  // Among the nodes of this window; with more of them than free places, these take turns, too.
  const own = (place - ((window * maxUnavailable) % count) + count) % count;
  const size = Math.min(maxUnavailable, count);
  return own < size && (own + Math.floor(window / count)) % size < room;
}

export function placesIn(members: readonly DriftedMember[], now: number): Places {
  const then = windowOf(now) * REPAIR_WINDOW.window - REPAIR_WINDOW.known;
  const names = members.filter((member) => hadDrifted(member, then)).map(({ name }) => name);
  return new Map(names.sort().map((name, place) => [name, place]));
}

export function windowOf(now: number): number {
  return Math.floor(now / REPAIR_WINDOW.window);
}

/** A node that was repaired since had drifted then. */
function hadDrifted({ drift }: DriftedMember, then: number): boolean {
  if (drift === undefined) return false;
  return drift.isDrifted ? drift.since < then : drift.since >= then;
}
