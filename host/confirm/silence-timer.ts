/**
 * How long a machine has not heard from Temporal. Counts only time in which this process ran: the
 * timers of a stopped process fire before any answer arrives.
 */

import { LONGEST_QUESTION_MS } from '../../core/machine/contact';

/** A late timer counts as one step. */
const STEP_MS = 1_000;

/**
 * When the time is over, Temporal is asked once more: the last question may be as old as the pause
 * of the process.
 */
export const LAST_QUESTION_SECONDS = LONGEST_QUESTION_MS / 1000;

export class SilenceTimer {
  #stepsLeft = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /**
   * @param onOver - called when the last question got no answer either
   *
   * @param stepMs - of a second; for tests
   */
  constructor(
    private readonly onOver: () => void,
    private readonly stepMs = STEP_MS,
  ) {}

  /** `onOver` was called, with no `begin` or `end` after it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  begin(seconds: number): void {
    this.end();
    this.#stepsLeft = Math.ceil(seconds) + LAST_QUESTION_SECONDS;
    this.#timer = setInterval(() => this.#step(), this.stepMs).unref();
  }

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
