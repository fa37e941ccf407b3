/**
 * Hosts hold no key: the gateway decodes what they get, and encodes what they send, before it enters
 * Temporal.
 */

import {
  defaultPayloadConverter,
  type Payload,
  type PayloadCodec,
  type ProtoFailure,
} from '@temporalio/common';
import { malformed } from './messages';

interface Payloads {
  payloads?: Payload[] | null;
}

/** A text of a failure, as the SDK shows it while the failure is encoded. */
const ENCODED = 'Encoded failure';

/** An activity has one result, and few details. */
const MAX_PAYLOADS = 16;

/** A host may nest causes as deep as it wants; the rest is dropped. */
const MAX_CAUSES = 20;

export interface PayloadGate {
  /** For a host. */
  decode(payloads: Payloads | null | undefined): Promise<Payloads | null>;
  /** From a host. */
  encode(payloads: Payloads | null | undefined): Promise<Payloads | null>;
  /** From a host, with message and stack trace. */
  encodeFailure(failure: ProtoFailure | null | undefined): Promise<ProtoFailure | null>;
}

export function payloadGate(codec: PayloadCodec): PayloadGate {
  const encode = async (payloads: Payloads | null | undefined): Promise<Payloads | null> => {
    if (!payloads?.payloads) return null;
    if (payloads.payloads.length > MAX_PAYLOADS) {
      throw malformed(`expected at most ${MAX_PAYLOADS} payloads, not ${payloads.payloads.length}`);
    }
    return { payloads: await codec.encode(payloads.payloads) };
  };
  return {
    encode,
    decode: async (payloads) =>
      payloads?.payloads ? { payloads: await codec.decode(payloads.payloads) } : null,
    encodeFailure: (failure) => encodedFailure(failure, encode, MAX_CAUSES),
  };
}

type Encode = (payloads: Payloads | null | undefined) => Promise<Payloads | null>;

/**
 * The infos that an activity may send, and nothing else: a field that is not named here would enter
 * Temporal as it is.
 */
async function encodedFailure(
  failure: ProtoFailure | null | undefined,
  encode: Encode,
  causesLeft: number,
): Promise<ProtoFailure | null> {
  if (!failure) return null;
  const { applicationFailureInfo, canceledFailureInfo, timeoutFailureInfo } = failure;
  const attributes = defaultPayloadConverter.toPayload({
    message: failure.message ?? '',
    stack_trace: failure.stackTrace ?? '',
  });
  const encoded = await encode({ payloads: [attributes] });
  return {
    message: ENCODED,
    source: failure.source ?? '',
    encodedAttributes: encoded?.payloads?.[0] ?? null,
    ...(applicationFailureInfo
      ? {
          applicationFailureInfo: {
            ...applicationFailureInfo,
            details: await encode(applicationFailureInfo.details),
          },
        }
      : {}),
    ...(canceledFailureInfo
      ? {
          canceledFailureInfo: {
            ...canceledFailureInfo,
            details: await encode(canceledFailureInfo.details),
          },
        }
      : {}),
    ...(timeoutFailureInfo
      ? {
          timeoutFailureInfo: {
            ...timeoutFailureInfo,
            lastHeartbeatDetails: await encode(timeoutFailureInfo.lastHeartbeatDetails),
          },
        }
      : {}),
    cause: causesLeft === 0 ? null : await encodedFailure(failure.cause, encode, causesLeft - 1),
  };
}
