/** Looks of the observer at a place, and the times without. */

/**
 * Without a look for longer, "nothing is broken" would be a guess. As long as `UNANSWERED_MS`:
 * suites that take Temporal or the API server away have them back long before, the longest after 35
 * s and a new start. Each rest asks whether it sees again.
 */
export const BLIND_MS = 300_000;

/** `blindSeconds` is the longest time in one piece. */
export interface Seen {
  readonly looks: number;
  readonly blindSeconds: number;
}

/**
 * One place. It is blind until its first look, and from `lost` to the next look: a poll is lost
 * after each look, a watch when it is cut.
 */
export class Sight {
  #looks = 0;
  #longestMs = 0;
  #blindSinceMs: number | undefined;
  #told = false;
  readonly #waiting = new Set<() => void>();

  /**
   * @param nowMs - monotonic, as all times here
   * @param tell - called once for each time that is too long
   */
  constructor(
    readonly place: string,
    nowMs: number,
    private readonly tell: (sight: Sight) => void,
  ) {
    this.#blindSinceMs = nowMs;
  }

  looked(nowMs: number): void {
    this.check(nowMs);
    this.#looks += 1;
    this.#longestMs = Math.max(this.#longestMs, this.blindMs(nowMs));
    this.#blindSinceMs = undefined;
    this.#told = false;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  lost(nowMs: number): void {
    this.#blindSinceMs ??= nowMs;
  }

  blindMs(nowMs: number): number {
    return this.#blindSinceMs === undefined ? 0 : nowMs - this.#blindSinceMs;
  }

  /** Call now and then, to report blindness while it lasts. */
  check(nowMs: number): void {
    if (this.#told || this.blindMs(nowMs) <= BLIND_MS) return;
    this.#told = true;
    this.tell(this);
  }

  /** At once, or with its next look. */
  sees(): Promise<void> {
    if (this.#blindSinceMs === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  seen(nowMs: number): Seen {
    return seconds(this.#looks, Math.max(this.#longestMs, this.blindMs(nowMs)));
  }
}

/** As blind as the blindest. */
export function allSeen(sights: readonly Sight[], nowMs: number): Seen {
  const each = sights.map((sight) => sight.seen(nowMs));
  return {
    looks: each.reduce((sum, { looks }) => sum + looks, 0),
    blindSeconds: Math.max(0, ...each.map(({ blindSeconds }) => blindSeconds)),
  };
}

function seconds(looks: number, blindMs: number): Seen {
  return { looks, blindSeconds: Math.round(blindMs / 100) / 10 };
}
