import type { Payload, PayloadCodec, ProtoFailure } from '@temporalio/common';
import { payloadGate } from '../../../../server/gateway/payloads';

const SEALED = 'sealed:';

/** Its texts can be read in a failed test. */
const codec: PayloadCodec = {
  encode: async (payloads) => payloads.map(({ data }) => payload(`${SEALED}${textOf(data)}`)),
  decode: async (payloads) =>
    payloads.map(({ data }) => payload(textOf(data).slice(SEALED.length))),
};

function payload(text: string): Payload {
  return { metadata: {}, data: Buffer.from(text) };
}

function textOf(data: Uint8Array | null | undefined): string {
  return Buffer.from(data ?? []).toString();
}

const SECRET = 'secret';

function aFailure(cause: ProtoFailure | null): ProtoFailure {
  return {
    message: `${SECRET} message`,
    stackTrace: `${SECRET} stack`,
    source: 'TypeScriptSDK',
    cause,
    applicationFailureInfo: {
      type: 'ApplyFailed',
      nonRetryable: true,
      details: { payloads: [payload(`${SECRET} detail`)] },
    },
  };
}

/** Every text in it, base64 of bytes decoded. */
function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [textOf(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(texts);
}

describe('payloads at the gateway', () => {
  const gate = payloadGate(codec);

  it('are readable for hosts, and sealed for Temporal', async () => {
    const sealed = await gate.encode({ payloads: [payload('one'), payload('two')] });
    const read = await gate.decode(sealed);

    expect(texts(sealed)).toEqual(['sealed:one', 'sealed:two']);
    expect(texts(read)).toEqual(['one', 'two']);
    expect(await gate.encode(null)).toBeNull();
    expect(await gate.decode(undefined)).toBeNull();
  });

  it('hide message, stack and details of a failure and of its causes', async () => {
    const failure = await gate.encodeFailure(aFailure(aFailure(aFailure(null))));

    const readable = texts(failure).filter((text) => !text.startsWith(SEALED));
    expect(readable.join()).not.toContain(SECRET);
    expect(texts(failure).filter((text) => text.includes(SECRET))).toHaveLength(6);
    expect(failure?.cause?.cause).toMatchObject({
      message: 'Encoded failure',
      applicationFailureInfo: { type: 'ApplyFailed', nonRetryable: true },
    });
  });

  it('hide the details of a cancellation and of a timeout', async () => {
    const details = { payloads: [payload(SECRET)] };
    const failure = await gate.encodeFailure({
      canceledFailureInfo: { details },
      timeoutFailureInfo: { lastHeartbeatDetails: details },
    });

    expect(texts(failure).filter((text) => text === `${SEALED}${SECRET}`)).toHaveLength(2);
  });

  it('lose what no activity sends, and causes without end', async () => {
    let deep: ProtoFailure | null = null;
    for (let depth = 0; depth < 90; depth += 1) deep = { message: SECRET, cause: deep };
    const strange = { ...deep, serverFailureInfo: {}, childWorkflowExecutionFailureInfo: {} };

    const failure = await gate.encodeFailure(strange);

    expect(failure).not.toHaveProperty('childWorkflowExecutionFailureInfo');
    expect(failure).not.toHaveProperty('serverFailureInfo');
    expect(texts(failure).filter((text) => text === 'Encoded failure')).toHaveLength(21);
  });
});
