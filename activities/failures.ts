/**
 * The only place where domain errors become Temporal failures. The kind of a failure decides its
 * retries.
 */

import { activityInfo, ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { FAILURES, failureName, messageOf, type FailureName } from '../core/errors';

const LOOK_AGAIN_SECONDS: Partial<Record<FailureName, number>> = {
  // The machine is booting, and its update has a grant.
  NotYetRebooted: 1,
  CordonedByUser: 30,
};
const DEFAULT_LOOK_AGAIN_SECONDS = 5;

/** Attempts with an unexpected error; then it is shown as a bug. */
const ATTEMPTS_OF_THE_UNKNOWN = 3;
/**
 * Without these activities a node stays out of service, a rollout ends half way, or what a person
 * said is lost: only failures that end them by name do. Attempts are not counted, and a refused
 * write is retried: an admission policy or a proxy gets fixed.
 */
const UNTIL_THEY_HOLD: ReadonlySet<string> = new Set([
  'completeNode',
  'releaseNode',
  'step',
  'writeWord',
]);

type Activity = (...args: never[]) => Promise<unknown>;

/**
 * Errors become an `ApplicationFailure` with the catalogue's name as type. Cancellation passes
 * through.
 */
export function withFailures<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    translated(name, activity as Activity),
  ]);
  return Object.fromEntries(wrapped) as T;
}

function translated(name: string, activity: Activity): Activity {
  return async (...args) => {
    try {
      return await activity(...args);
    } catch (error) {
      throw cancellationOf(error) ?? toFailure(error, activityInfo().attempt, name);
    }
  };
}

/** It does not matter what the interrupted call threw. */
function cancellationOf(error: unknown): Error | undefined {
  if (error instanceof CancelledFailure) return error;
  const { cancellationSignal } = Context.current();
  if (!cancellationSignal.aborted || !isAbort(error)) return undefined;
  const reason: unknown = cancellationSignal.reason;
  return reason instanceof CancelledFailure ? reason : new CancelledFailure('activity cancelled');
}

function isAbort(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error
    ? error.name === 'AbortError' || error.name === 'CancelledFailure'
    : false;
}

/** @param attempt - counts from 1 @param activity - by its name */
export function toFailure(error: unknown, attempt: number, activity = ''): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  const cause = error instanceof Error ? error : undefined;
  const name = failureName(error);
  if (name === undefined) {
    return ApplicationFailure.create({
      message: messageOf(error),
      type: cause?.name ?? 'Error',
      nonRetryable: attempt >= ATTEMPTS_OF_THE_UNKNOWN && !UNTIL_THEY_HOLD.has(activity),
      ...(cause === undefined ? {} : { cause }),
    });
  }
  const details = detailsOf(error);
  const { kind } = FAILURES[name];
  const isWaiting = kind === 'waiting';
  const mayHold = name === 'ApiRefused' && UNTIL_THEY_HOLD.has(activity);
  return ApplicationFailure.create({
    message: messageOf(error),
    type: name,
    nonRetryable: kind !== 'transient' && !isWaiting && !mayHold,
    details: details === undefined ? [] : [details],
    ...(isWaiting
      ? {
          nextRetryDelay: `${retryAfter(details) ?? LOOK_AGAIN_SECONDS[name] ?? DEFAULT_LOOK_AGAIN_SECONDS}s`,
          category: ApplicationFailureCategory.BENIGN,
        }
      : {}),
  });
}

function detailsOf(error: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof error !== 'object' || error === null || !('details' in error)) return undefined;
  const { details } = error;
  return typeof details === 'object' && details !== null
    ? (details as Readonly<Record<string, unknown>>)
    : undefined;
}

/** A failure may set its own delay. */
function retryAfter(details: Readonly<Record<string, unknown>> | undefined): number | undefined {
  const seconds = details?.['retryAfterSeconds'];
  return typeof seconds === 'number' && seconds > 0 ? seconds : undefined;
}
