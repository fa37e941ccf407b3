/** How often the observer could look at a place, and for how long at a time it could not. */

/**
 * Who could not look for longer has not watched, and "nothing is broken" would be a guess. As long as who
 * waits may be impossible to ask (`UNANSWERED_MS`): suites that take Temporal or the API server away have
 * them back long before, the longest after 35 s and a new start on a busy machine, so they need not say so.
 * Whether it sees again afterwards is asked at each rest, where everything is up.
 */
export const BLIND_MS = 300_000;

/** What it has come to; `blindSeconds` is the longest time in one piece. */
export interface Seen {
  readonly looks: number;
  readonly blindSeconds: number;
}

/**
 * One place. It is blind until its first look, and from `lost` to the next one: who looks now and then is
 * lost after each look, who listens is when the line is cut.
 */
export class Sight {
  #looks = 0;
  #longestMs = 0;
  #blindSinceMs: number | undefined;
  #told = false;
  readonly #waiting = new Set<() => void>();

  /**
   * @param nowMs - by a clock that nobody sets, as all times here
   * @param tell - hears once of each time that is too long
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

  /** For how long it has not been able to look, until now. */
  blindMs(nowMs: number): number {
    return this.#blindSinceMs === undefined ? 0 : nowMs - this.#blindSinceMs;
  }

  /** Asked now and then, so that it is told while it lasts. */
  check(nowMs: number): void {
    if (this.#told || this.blindMs(nowMs) <= BLIND_MS) return;
    this.#told = true;
    this.tell(this);
  }

  /** Resolves when it sees: at once, or with its next look. */
  sees(): Promise<void> {
    if (this.#blindSinceMs === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  seen(nowMs: number): Seen {
    return seconds(this.#looks, Math.max(this.#longestMs, this.blindMs(nowMs)));
  }
}

/** Several that must all see: as blind as the blindest. */
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
