/**
 * How long a machine has heard nothing of Temporal. Only time in which this process ran counts: while it stands still
 * (stopped, a paused VM, no processor) it asks nobody, and when it goes on its timers come before any answer can.
 */

import { LONGEST_QUESTION_MS } from '../../core/machine/contact';

/** A timer that is late by hours counts as one that is in time. */
const STEP_MS = 1_000;

/** When the time is over, somebody asks once more: Temporal may be back, or the last question as old as a standstill. */
export const LAST_QUESTION_SECONDS = LONGEST_QUESTION_MS / 1000;

export class SilenceTimer {
  #stepsLeft = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /**
   * @param onOver - the time is over, and the last question had no answer either
   * @param stepMs - for tests: of a second
   */
  constructor(
    private readonly onOver: () => void,
    private readonly stepMs = STEP_MS,
  ) {}

  /** Whether `onOver` was called, and nothing has begun or ended since. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** From now on; also anew, as with each answer. */
  begin(seconds: number): void {
    this.end();
    this.#stepsLeft = Math.ceil(seconds) + LAST_QUESTION_SECONDS;
    this.#timer = setInterval(() => this.#step(), this.stepMs).unref();
  }

  /** Nothing is waited for any more. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#isOver = false;
  }

  #step(): void {
    this.#stepsLeft -= 1;
    if (this.#stepsLeft > 0) return;
    this.end();
    this.#isOver = true;
    this.onOver();
  }
}
