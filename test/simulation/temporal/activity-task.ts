/** An activity as the server keeps it: attempts, retries, timeouts, cancellation. */

import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { tsToMs, type Timestamp } from '@temporalio/common/lib/time';
import { coresdk } from '@temporalio/proto';
import type { Chance, Planned, VirtualClock } from '../clock';
import { Attempt, type Call, type Perform } from './attempt';
import {
  cancelled,
  completed,
  failed,
  failureOf,
  timeoutFailure,
  type ActivityResult,
  type Failure,
  type GivenUp,
  type Timeout,
} from './payloads';

type Scheduled = Omit<coresdk.workflow_commands.IScheduleActivity, 'headers'>;
type Duration = Timestamp | null | undefined;

/** The parts of a server that an activity needs. */
export interface ActivityHost {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly perform: Perform;
  /** Calls back as soon as somebody polls the queue: at once, later, or never. */
  whenPolled(queue: string, start: () => void): void;
  note(who: string, what: string): void;
}

/** Heartbeats of the product come every three seconds, and a cancellation with their answer. */
const HEARTBEAT_MS = 3_000;

const { ABANDON, WAIT_CANCELLATION_COMPLETED } = coresdk.workflow_commands.ActivityCancellationType;

/**
 * Whether a cancellation of it is over when no attempt is under way any more. Of any other one Core tells
 * the workflow at once, while the attempt goes on; so it does when nothing is said.
 */
export function isAwaited({ activityType, cancellationType }: Scheduled): boolean {
  if (cancellationType === ABANDON) throw new Error(`${activityType}: ABANDON is not modelled`);
  return cancellationType === WAIT_CANCELLATION_COMPLETED;
}

export class ActivityTask {
  /** Why a person would see it pending; undefined once it is over. */
  state: 'queued' | 'running' | 'backoff' | 'closed' = 'queued';
  readonly type: string;
  private attempt: Attempt | undefined;
  private attempts = 0;
  private cancelRequested = false;
  private lastFailure: Failure | undefined;
  /** Details of the last heartbeat of the attempt that ended last. */
  private lastHeartbeat: unknown;
  private saidNow: unknown;
  private readonly scheduledAt: number;
  private readonly whole: Planned | undefined;
  private step: Planned[] = [];

  constructor(
    private readonly host: ActivityHost,
    private readonly scheduled: Scheduled,
    private readonly of: { readonly workflowId: string; readonly runId: string },
    private readonly input: unknown,
    private readonly resolve: (result: ActivityResult) => void,
  ) {
    this.type = scheduled.activityType ?? '';
    this.scheduledAt = host.clock.now;
    this.whole = this.timer(scheduled.scheduleToCloseTimeout, () =>
      this.giveUp(timeoutFailure('SCHEDULE_TO_CLOSE', this.lastFailure), 'TIMEOUT'),
    );
    this.enqueue();
  }

  /** Whether the workflow was told already how it ended, whatever becomes of it. */
  get isSettled(): boolean {
    return this.cancelRequested && !isAwaited(this.scheduled);
  }

  /** Nobody carries it out now, or somebody who was struck by the weather. */
  get isStruck(): boolean {
    return this.state !== 'running' || this.attempt?.isStruck !== false;
  }

  /** What its attempt says now of how far it is; undefined = nothing yet. */
  get said(): unknown {
    return this.saidNow;
  }

  /** The workflow asks for it; a worker hears of it with the answer to a heartbeat, or not at all. */
  requestCancel(): void {
    if (this.state === 'closed') return;
    this.cancelRequested = true;
    if (this.state !== 'running') {
      this.close(cancelled(this.type));
      return;
    }
    const { attempt } = this;
    if (!this.hasHeartbeats()) return;
    const { clock, chance } = this.host;
    clock.after(chance.between(0, HEARTBEAT_MS), () => attempt?.abort('cancel requested'));
  }

  /** Its workflow is closed: nobody hears of the result, and the worker learns of that. */
  abandon(): void {
    if (this.state === 'closed') return;
    const { attempt } = this;
    this.end();
    if (!this.hasHeartbeats()) return;
    const { clock, chance } = this.host;
    clock.after(chance.between(0, HEARTBEAT_MS), () => attempt?.abort('workflow is closed'));
  }

  private enqueue(): void {
    this.state = 'queued';
    const tooLate = this.timer(this.scheduled.scheduleToStartTimeout, () =>
      this.giveUp(timeoutFailure('SCHEDULE_TO_START', this.lastFailure), 'TIMEOUT'),
    );
    if (tooLate !== undefined) this.step = [tooLate];
    const { clock, chance } = this.host;
    clock.after(chance.latency(20, 1_000), () =>
      this.host.whenPolled(this.queue(), () => {
        if (this.state === 'queued') this.start();
      }),
    );
  }

  private start(): void {
    this.clearStep();
    this.state = 'running';
    this.attempts += 1;
    const attempt = this.newAttempt();
    this.attempt = attempt;
    const late = this.timer(this.scheduled.startToCloseTimeout, () => {
      // The worker keeps the same clock, a little later.
      this.host.clock.after(1_000, () => attempt.abort('timed out'));
      this.timedOut('START_TO_CLOSE');
    });
    if (late !== undefined) this.step = [late];
    this.saidNow = undefined;
    this.host
      .perform(attempt)
      .finally(() => {
        attempt.hasEnded();
      })
      .then((value) => this.succeeded(attempt, value))
      .catch((error: unknown) => this.failedWith(attempt, error));
  }

  private newAttempt(): Attempt {
    const call: Call = {
      type: this.type,
      input: this.input,
      queue: this.queue(),
      ...this.of,
      attempt: this.attempts,
      scheduledAt: this.scheduledAt,
      attemptMs: ms(this.scheduled.startToCloseTimeout),
      lastHeartbeat: this.lastHeartbeat,
      isLocal: false,
    };
    let isSilent = false;
    const silence = (): void => {
      isSilent = true;
      if (!this.hasHeartbeats()) return;
      const timer = this.timer(this.scheduled.heartbeatTimeout, () => {
        if (this.attempt !== attempt || this.state !== 'running') return;
        this.host.clock.after(HEARTBEAT_MS, () => attempt.abort('no such attempt'));
        this.timedOut('HEARTBEAT');
      });
      if (timer !== undefined) this.step.push(timer);
    };
    const awaited = (): boolean => this.attempt === attempt && this.state === 'running';
    const heard = (details: unknown): void => {
      if (isSilent || !awaited()) return;
      this.lastHeartbeat = details;
      this.saidNow = details;
    };
    const stops = (forMs: number): void => {
      if (forMs > ms(this.scheduled.heartbeatTimeout)) silence();
    };
    const { clock } = this.host;
    const attempt: Attempt = new Attempt(call, clock, silence, silence, awaited, heard, stops);
    return attempt;
  }

  private succeeded(attempt: Attempt, value: unknown): void {
    if (!attempt.alive) return;
    if (this.attempt !== attempt || this.state !== 'running') {
      this.host.note(
        this.of.workflowId,
        `${this.type} attempt ${attempt.call.attempt}: late answer`,
      );
      return;
    }
    this.close(completed(value));
  }

  private failedWith(attempt: Attempt, error: unknown): void {
    if (!attempt.alive || this.attempt !== attempt || this.state !== 'running') return;
    if (error instanceof CancelledFailure && this.cancelRequested) {
      this.close(cancelled(this.type));
      return;
    }
    // A worker that stops says so, and the attempt is repeated elsewhere.
    const thrown =
      error instanceof CancelledFailure
        ? ApplicationFailure.retryable('worker is shutting down', 'WORKER_SHUTDOWN')
        : error;
    if (!(thrown instanceof ApplicationFailure)) throw thrown;
    const isFinal =
      thrown.nonRetryable === true ||
      (this.scheduled.retryPolicy?.nonRetryableErrorTypes ?? []).includes(thrown.type ?? '');
    const delay = thrown.nextRetryDelay;
    this.retryOr(
      failureOf(thrown),
      isFinal,
      typeof delay === 'string' ? seconds(delay) : undefined,
    );
  }

  private timedOut(type: Timeout): void {
    this.host.note(this.of.workflowId, `${this.type} attempt ${this.attempts}: ${type} timeout`);
    this.retryOr(timeoutFailure(type, this.lastFailure), false, undefined);
  }

  private retryOr(failure: Failure, isFinal: boolean, delay: number | undefined): void {
    this.clearStep();
    this.attempt = undefined;
    this.saidNow = undefined;
    if (isFinal) return this.giveUp(failure, 'NON_RETRYABLE_FAILURE');
    if (this.cancelRequested) return this.giveUp(failure, 'CANCEL_REQUESTED');
    const policy = this.scheduled.retryPolicy ?? {};
    const most = policy.maximumAttempts ?? 0;
    if (most > 0 && this.attempts >= most) return this.giveUp(failure, 'MAXIMUM_ATTEMPTS_REACHED');
    const wait = delay ?? this.backoff();
    const limit = ms(this.scheduled.scheduleToCloseTimeout);
    const { clock } = this.host;
    if (limit > 0 && clock.now + wait >= this.scheduledAt + limit) {
      return this.giveUp(failure, 'TIMEOUT');
    }
    this.lastFailure = failure;
    this.state = 'backoff';
    this.step = [clock.after(wait, () => this.enqueue())];
  }

  private backoff(): number {
    const policy = this.scheduled.retryPolicy ?? {};
    const first = ms(policy.initialInterval) || 1_000;
    const most = ms(policy.maximumInterval) || first * 100;
    return Math.min(most, first * (policy.backoffCoefficient || 2) ** (this.attempts - 1));
  }

  private giveUp(failure: Failure, why: GivenUp): void {
    this.close(failed(this.type, failure, why));
  }

  private close(result: ActivityResult): void {
    if (this.state === 'closed') return;
    this.end();
    this.resolve(result);
  }

  private end(): void {
    this.state = 'closed';
    this.clearStep();
    this.whole?.cancel();
  }

  private clearStep(): void {
    for (const planned of this.step) planned.cancel();
    this.step = [];
  }

  private timer(duration: Duration, work: () => void): Planned | undefined {
    const after = ms(duration);
    return after === 0 ? undefined : this.host.clock.after(after, work);
  }

  private hasHeartbeats(): boolean {
    return ms(this.scheduled.heartbeatTimeout) > 0;
  }

  private queue(): string {
    return this.scheduled.taskQueue || 'slipway';
  }
}

function ms(duration: Duration): number {
  return duration ? tsToMs(duration) : 0;
}

function seconds(text: string): number {
  const found = /^(\d+(?:\.\d+)?)s$/.exec(text)?.[1];
  if (found === undefined) throw new Error(`not a delay in seconds: ${text}`);
  return Number(found) * 1000;
}
