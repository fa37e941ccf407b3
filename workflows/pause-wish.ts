/** What a rollout knows of the pause of its pool, and its view does not show yet. */

import type { PoolLook } from './contracts/cluster';
import { instant } from './carried';
import { LAG_MS } from './updates-under-way';

export interface Pause {
  readonly paused: boolean;
  readonly reason?: string;
}

interface Wish {
  readonly paused: boolean;
  readonly reason: string;
  readonly until: string;
  /** It was said over another one: a view that agrees may be from before both. */
  readonly isLater?: true;
}

export class PauseWish {
  /** What the pool was last made to say; a view may be from before it. */
  private written: Wish | undefined;

  constructor(private wish: Wish | undefined) {
    this.written = wish;
  }

  /** Undefined = the view is right. */
  get carried(): Wish | undefined {
    return this.wish;
  }

  /** What was said counts before what is shown. */
  over(view: PoolLook | undefined): Pause {
    if (this.wish !== undefined) return { paused: this.wish.paused, reason: this.wish.reason };
    const { paused = false, pausedReason } = view ?? {};
    return { paused, ...(pausedReason === undefined ? {} : { reason: pausedReason }) };
  }

  /** @param waits - it is written after another one */
  say(paused: boolean, reason: string, { isLater: waits = false, forMs = LAG_MS } = {}): void {
    const later = waits || this.isSaidOver(paused) ? { isLater: true as const } : {};
    this.wish = { paused, reason, until: instant(forMs), ...later };
  }

  /** Also over one that is written, as long as a view may be from before it. */
  private isSaidOver(paused: boolean): boolean {
    if (this.wish === undefined) return false;
    const { isLater, ...before } = this.wish;
    return before.paused !== paused || isLater === true;
  }

  /** The pool says so now. */
  noteWritten(paused: boolean, reason: string): void {
    this.written = { paused, reason, until: instant(LAG_MS), isLater: true };
  }

  /** What was said last cannot be written: what was written before it stands. */
  takeBack(): void {
    const { written } = this;
    const isFresh = written !== undefined && Date.parse(written.until) > Date.now();
    this.wish = isFresh ? written : undefined;
  }

  private forget(): void {
    this.wish = undefined;
  }

  forgetIfShown(view: PoolLook): void {
    if (this.wish?.paused === view.paused && this.wish.isLater !== true) this.forget();
  }

  expire(now: number): void {
    if (this.wish !== undefined && Date.parse(this.wish.until) <= now) this.forget();
  }
}
