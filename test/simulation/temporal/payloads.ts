/** Between plain values and what travels: payloads and failures, as the SDK makes them. */

import { defaultFailureConverter, defaultPayloadConverter, toPayloads } from '@temporalio/common';
import type { coresdk } from '@temporalio/proto';
import { temporal } from '@temporalio/proto';

type Payload = temporal.api.common.v1.IPayload;
export type Failure = temporal.api.failure.v1.IFailure;
export type ActivityResult = coresdk.activity_result.IActivityResolution;

const { TimeoutType, RetryState } = temporal.api.enums.v1;

export function fromPayload(payload: Payload | null | undefined): unknown {
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}

export function fromPayloads(payloads: readonly Payload[] | null | undefined): readonly unknown[] {
  return (payloads ?? []).map(fromPayload);
}

export function toPayloadList(...values: readonly unknown[]): Payload[] {
  return toPayloads(defaultPayloadConverter, ...values) ?? [];
}

export function failureOf(error: unknown): Failure {
  return defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);
}

export function errorOf(failure: Failure | null | undefined): Error {
  return failure
    ? defaultFailureConverter.failureToError(failure, defaultPayloadConverter)
    : new Error('failed without a reason');
}

export type Timeout = 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE' | 'START_TO_CLOSE' | 'HEARTBEAT';

export function timeoutFailure(type: Timeout, cause?: Failure): Failure {
  return {
    message: `activity ${type} timeout`,
    source: 'Server',
    timeoutFailureInfo: { timeoutType: TimeoutType[`TIMEOUT_TYPE_${type}`] },
    ...(cause === undefined ? {} : { cause }),
  };
}

export type GivenUp =
  'NON_RETRYABLE_FAILURE' | 'TIMEOUT' | 'MAXIMUM_ATTEMPTS_REACHED' | 'CANCEL_REQUESTED';

export function completed(value: unknown): ActivityResult {
  const result = defaultPayloadConverter.toPayload(value);
  return { completed: result === undefined ? {} : { result } };
}

export function failed(activityType: string, cause: Failure, givenUp: GivenUp): ActivityResult {
  return {
    failed: {
      failure: {
        message: 'Activity task failed',
        cause,
        activityFailureInfo: {
          activityType: { name: activityType },
          activityId: activityType,
          retryState: RetryState[`RETRY_STATE_${givenUp}`],
        },
      },
    },
  };
}

export function cancelled(activityType: string): ActivityResult {
  return {
    cancelled: {
      failure: {
        message: 'Activity cancelled',
        cause: { message: 'CANCELLED', canceledFailureInfo: {} },
        activityFailureInfo: { activityType: { name: activityType }, activityId: activityType },
      },
    },
  };
}
