/** From what the SDK throws to a name of the catalogue and a sentence, and back. */

import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { FAILURES, messageOf, type Failure, type FailureName } from '../../core/errors';
import { isRecord } from '../../core/is-record';
import { HOST_STEPS } from './host';

/** A failure of the catalogue that ends a workflow or refuses an update. Never retried. */
export function refuse(name: FailureName, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, name);
}

/**
 * The first cause of an error, by name. A step that was given up because time ran out is named by
 * what that means for the step, with the last thing that kept it waiting in the reason.
 *
 * @param rebooting - the host was told to reboot: when it is away, it has not come back
 */
export function explain(error: unknown, rebooting = false): Failure {
  const { failure, timeout, isLate } = causesOf(error);
  if (!isLate) return failure ?? { reason: messageOf(error) };
  const last = failure === undefined ? '' : `; last: ${failure.reason}`;
  return {
    name: nameOfDelay(error, failure?.name, rebooting),
    reason: `${lateSentence(error, timeout)}${last}`,
  };
}

/** Whether a step was given up because time ran out, whatever kept it waiting. */
export function isLate(error: unknown): boolean {
  return causesOf(error).isLate;
}

function nameOfDelay(
  error: unknown,
  lastName: FailureName | undefined,
  rebooting: boolean,
): FailureName {
  if (lastName !== undefined && FAILURES[lastName].kind !== 'waiting') return lastName;
  const step = stepOf(error);
  if (rebooting && step === 'verifyUpdate') return 'NotYetRebooted';
  // Any other step waits for the API server.
  if (HOST_STEPS.has(step)) return 'HostUnreachable';
  if (step === 'drainNode') return 'DrainTimedOut';
  return step === 'awaitReturn' ? 'NodeNotReady' : 'ApiUnavailable';
}

function lateSentence(error: unknown, timeout: TimeoutFailure | undefined): string {
  switch (timeout?.timeoutType) {
    case 'SCHEDULE_TO_START':
      return `the host worker did not pick up ${stepOf(error)} in time`;
    case 'HEARTBEAT':
      return `the worker went silent during ${stepOf(error)}`;
    default:
      return `${stepOf(error)} did not succeed in time`;
  }
}

function stepOf(error: unknown): string {
  return error instanceof ActivityFailure ? error.activityType : 'the step';
}

/** The UID of the pool in which a host has obeyed until now, where it refuses another one for that. */
export function poolToLeave(error: unknown): string | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  if (!(cause instanceof ApplicationFailure) || cause.type !== 'OrderRefused') return undefined;
  const [details] = cause.details ?? [];
  return isRecord(details) && typeof details['isInPool'] === 'string'
    ? details['isInPool']
    : undefined;
}

/** The innermost named failure and the outermost timeout of a chain of causes. */
function causesOf(error: unknown) {
  let failure: Failure | undefined;
  let timeout: TimeoutFailure | undefined;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof TimeoutFailure) timeout ??= cause;
    if (cause instanceof ApplicationFailure) failure = named(cause) ?? failure;
  }
  const isGivenUp = error instanceof ActivityFailure && error.retryState === 'TIMEOUT';
  return { failure, timeout, isLate: timeout !== undefined || isGivenUp };
}

function named({ type, message }: ApplicationFailure): Failure {
  const known = typeof type === 'string' && Object.hasOwn(FAILURES, type);
  return known ? { name: type as FailureName, reason: message } : { reason: message };
}
