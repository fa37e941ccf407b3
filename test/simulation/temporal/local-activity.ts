/** A local activity: attempts inside one workflow task, in the process of the worker. */

import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { tsToMs, type Timestamp } from '@temporalio/common/lib/time';
import type { coresdk } from '@temporalio/proto';
import type { ActivityHost } from './activity-task';
import { Attempt } from './attempt';
import type { Planned } from '../clock';
import {
  cancelled,
  completed,
  failed,
  failureOf,
  fromPayload,
  timeoutFailure,
  type ActivityResult,
  type Failure,
  type GivenUp,
} from './payloads';

export type ScheduledLocally = coresdk.workflow_commands.IScheduleLocalActivity;

export class LocalActivity {
  readonly type: string;
  private attempt: Attempt | undefined;
  private attempts = 0;
  private cancelRequested = false;
  private readonly begunAt: number;
  private timers: Planned[] = [];
  private isOver = false;

  constructor(
    private readonly host: Pick<ActivityHost, 'clock' | 'chance' | 'perform' | 'note'>,
    readonly scheduled: ScheduledLocally,
    private readonly of: { readonly workflowId: string; readonly runId: string },
    private readonly resolve: (result: ActivityResult) => void | Promise<void>,
  ) {
    this.type = scheduled.activityType ?? '';
    this.begunAt = host.clock.now;
    this.start();
  }

  requestCancel(): void {
    if (this.isOver) return;
    this.cancelRequested = true;
    if (this.attempt === undefined) this.close(cancelled(this.type));
    else this.attempt.abort('cancel requested');
  }

  /** The process of the worker died, and with it whatever it did. */
  die(): void {
    this.end();
    this.attempt?.die();
  }

  private start(): void {
    this.attempts += 1;
    const attempt: Attempt = new Attempt(
      {
        type: this.type,
        input: fromPayload(this.scheduled.arguments?.[0]),
        queue: 'slipway',
        ...this.of,
        attempt: this.attempts,
        scheduledAt: this.begunAt,
        attemptMs: ms(this.scheduled.startToCloseTimeout),
        isLocal: true,
      },
      this.host.clock,
      // It shares the process of the workflow: nobody dies alone here, it only never answers.
      () => undefined,
      () => undefined,
    );
    this.attempt = attempt;
    const limits = [ms(this.scheduled.startToCloseTimeout), this.left()].filter(
      (limit) => limit > 0,
    );
    if (limits.length > 0) {
      this.timers = [
        this.host.clock.after(Math.min(...limits), () => {
          attempt.abort('timed out');
          this.host.note(this.of.workflowId, `${this.type} (local): timed out`);
          const isWhole = this.left() <= 0 && ms(this.scheduled.scheduleToCloseTimeout) > 0;
          const type = isWhole ? 'SCHEDULE_TO_CLOSE' : 'START_TO_CLOSE';
          this.retryOr(timeoutFailure(type), isWhole);
        }),
      ];
    }
    this.host
      .perform(attempt)
      .then((value) => {
        if (attempt.alive && this.attempt === attempt) this.close(completed(value));
      })
      .catch((error: unknown) => this.failedWith(attempt, error));
  }

  private failedWith(attempt: Attempt, error: unknown): void {
    if (!attempt.alive || this.attempt !== attempt || this.isOver) return;
    if (error instanceof CancelledFailure) {
      // Also when the worker stops: the workflow sees a cancellation that it did not ask for.
      this.close(cancelled(this.type));
      return;
    }
    if (!(error instanceof ApplicationFailure)) throw error;
    this.retryOr(failureOf(error), error.nonRetryable === true);
  }

  private retryOr(failure: Failure, isFinal: boolean): void {
    this.clear();
    this.attempt = undefined;
    const policy = this.scheduled.retryPolicy ?? {};
    const most = policy.maximumAttempts ?? 0;
    const give = (why: GivenUp): void => this.close(failed(this.type, failure, why));
    if (isFinal) return give('NON_RETRYABLE_FAILURE');
    if (this.cancelRequested) return give('CANCEL_REQUESTED');
    if (most > 0 && this.attempts >= most) return give('MAXIMUM_ATTEMPTS_REACHED');
    const first = ms(policy.initialInterval) || 1_000;
    const wait = Math.min(
      ms(policy.maximumInterval) || first * 100,
      first * 2 ** (this.attempts - 1),
    );
    if (ms(this.scheduled.scheduleToCloseTimeout) > 0 && wait >= this.left())
      return give('TIMEOUT');
    this.timers = [this.host.clock.after(wait, () => this.start())];
  }

  /** Milliseconds of the whole that are left. */
  private left(): number {
    return this.begunAt + ms(this.scheduled.scheduleToCloseTimeout) - this.host.clock.now;
  }

  private close(result: ActivityResult): void {
    if (this.isOver) return;
    this.end();
    // An event of its own, so that a workflow is never activated from within another one's activation.
    this.host.clock.after(0, () => this.resolve(result));
  }

  private end(): void {
    this.isOver = true;
    this.clear();
  }

  private clear(): void {
    for (const timer of this.timers) timer.cancel();
    this.timers = [];
  }
}

function ms(duration: Timestamp | null | undefined): number {
  return duration ? tsToMs(duration) : 0;
}
