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
  /** Details of the last heartbeat of the attempt before. */
  readonly lastHeartbeat?: unknown;
  readonly isLocal: boolean;
}

const HEARTBEAT_MS = 3_000;

export class Attempt {
  /** The process lives; whatever it does without that never comes to an end. */
  alive = true;
  /** Something goes wrong with it. */
  isStruck = false;
  private readonly aborter = new AbortController();
  private readonly sleeping = new Set<Planned>();
  /** Until then its process stands still: it hears nothing, and no timer of it fires. */
  private stillUntil = -Infinity;
  private readonly ends: (() => void)[] = [];

  constructor(
    readonly call: Call,
    private readonly clock: VirtualClock,
    /** The process died without a word. */
    private readonly onDeath: () => void,
    /** Nothing more is heard of it, although it goes on. */
    private readonly onSilence: () => void,
    /** Whether the server waits for this very attempt; it knows nothing of local ones. */
    readonly isAwaited: () => boolean = () => true,
    /** It says how far it is. */
    private readonly onHeartbeat: (details: unknown) => void = () => undefined,
    /** Its process stands still for so long. */
    private readonly onStop: (ms: number) => void = () => undefined,
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
    this.stillUntil = this.clock.now + ms;
    this.onStop(ms);
    return new Promise((resolve) => {
      this.timer(ms, resolve);
    });
  }

  /** A timer of its process. */
  timer(ms: number, fire: () => void): Planned {
    let planned = this.clock.after(ms, () => {
      if (!this.alive) return;
      const left = this.stillUntil - this.clock.now;
      if (left <= 0) fire();
      else planned = this.timer(left, fire);
    });
    return {
      cancel: () => {
        planned.cancel();
      },
    };
  }

  /** Something arrives at its process by itself: at once, when it goes on, or never. */
  hears(hear: () => void): void {
    if (!this.alive) return;
    const left = this.stillUntil - this.clock.now;
    if (left > 0) this.timer(left, hear);
    else hear();
  }

  /** Called when its process ends, or it has ended itself. */
  atEnd(work: () => void): void {
    this.ends.push(work);
  }

  hasEnded(): void {
    for (const work of this.ends.splice(0)) work();
  }

  heartbeat(details: unknown): void {
    if (this.alive && this.stillUntil <= this.clock.now) this.onHeartbeat(details);
  }

  /**
   * A request on its way: it arrives whatever becomes of the attempt, and only a living process
   * hears the answer, or sends one.
   */
  request<T>(there: number, back: number, arrive: () => T): Promise<T> {
    if (!this.alive) return this.never();
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
        this.timer(back, () => {
          answer();
        });
      });
    });
  }

  /** Cancelled, timed out as the worker knows it, or its workflow is gone. */
  abort(why: string): void {
    if (!this.alive || this.signal.aborted) return;
    const left = this.stillUntil - this.clock.now;
    // It hears of it with the answer to its next heartbeat.
    if (left > 0) this.timer(left + HEARTBEAT_MS, () => void this.abort(why));
    else this.aborter.abort(new CancelledFailure(why));
  }

  /** The process ends here. */
  die(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const planned of this.sleeping) planned.cancel();
    this.hasEnded();
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
