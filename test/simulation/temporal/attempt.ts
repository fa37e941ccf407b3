/** One attempt of one activity in one process, in virtual time. */

import { CancelledFailure } from '@temporalio/common';
import type { Planned, VirtualClock } from '../clock';

/** What an attempt was asked to do. */
export interface Call {
  readonly type: string;
  readonly input: unknown;
  readonly queue: string;
  readonly workflowId: string;
  readonly runId: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** When the first attempt was scheduled. */
  readonly scheduledAt: number;
  /** How long it may take before the server gives it up. */
  readonly attemptMs: number;
  readonly isLocal: boolean;
}

export class Attempt {
  /** The process lives; whatever it does without that never comes to an end. */
  alive = true;
  /** Something goes wrong with it. */
  isStruck = false;
  private standsStill = false;
  private readonly aborter = new AbortController();
  private readonly sleeping = new Set<Planned>();

  constructor(
    readonly call: Call,
    private readonly clock: VirtualClock,
    /** The process died without a word. */
    private readonly onDeath: () => void,
    /** Nothing more is heard of it, although it goes on. */
    private readonly onSilence: () => void,
    /** Whether the server waits for this very attempt; it knows nothing of local ones. */
    readonly isAwaited: () => boolean = () => true,
  ) {}

  get signal(): AbortSignal {
    return this.aborter.signal;
  }

  /** Resolves later; rejects when the attempt is cancelled meanwhile. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) {
        reject(this.signal.reason as Error);
        return;
      }
      const wake = this.clock.after(ms, () => {
        this.sleeping.delete(wake);
        this.signal.removeEventListener('abort', stop);
        if (this.alive) resolve();
      });
      const stop = (): void => {
        wake.cancel();
        this.sleeping.delete(wake);
        if (this.alive) reject(this.signal.reason as Error);
      };
      this.sleeping.add(wake);
      this.signal.addEventListener('abort', stop, { once: true });
    });
  }

  /**
   * Its process is stopped, and so are its timers: that it was given up meanwhile it does not know when it
   * goes on, because it counts its time from then.
   */
  standStill(ms: number): Promise<void> {
    this.standsStill = true;
    return new Promise((resolve) => {
      this.clock.after(ms, () => {
        this.standsStill = false;
        if (this.alive) resolve();
      });
    });
  }

  /**
   * A request on its way: it arrives whatever becomes of the attempt, and only a living process
   * hears the answer.
   */
  request<T>(there: number, back: number, arrive: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.clock.after(there, () => {
        let answer: () => void;
        try {
          const value = arrive();
          answer = () => resolve(value);
        } catch (error) {
          const failure = error instanceof Error ? error : new Error(String(error));
          answer = () => reject(failure);
        }
        this.clock.after(back, () => {
          if (this.alive) answer();
        });
      });
    });
  }

  /** Cancelled, timed out as the worker knows it, or its workflow is gone. */
  abort(why: string): void {
    if (this.alive && !this.standsStill && !this.signal.aborted)
      this.aborter.abort(new CancelledFailure(why));
  }

  /** The process ends here. */
  die(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const planned of this.sleeping) planned.cancel();
    this.onDeath();
  }

  fallSilent(): void {
    this.onSilence();
  }

  /** For whoever waits for something that never comes. */
  never(): Promise<never> {
    return new Promise(() => undefined);
  }
}

/** Carries out attempts; what it throws is an `ApplicationFailure` or a `CancelledFailure`. */
export type Perform = (attempt: Attempt) => Promise<unknown>;
