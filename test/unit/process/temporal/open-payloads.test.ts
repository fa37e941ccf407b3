import type { PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { withOpenPayloads } from '../../../../process/temporal/open-payloads';

const codec: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads),
  decode: async (payloads) =>
    payloads.map(({ metadata, data }) => ({
      metadata: metadata ?? null,
      data: Buffer.from(
        Buffer.from(data ?? [])
          .toString()
          .toLowerCase(),
      ),
    })),
};

const { PendingActivityInfo } = temporal.api.workflow.v1;

function described() {
  const info = PendingActivityInfo.create({
    activityId: 'A',
    heartbeatDetails: { payloads: [{ metadata: {}, data: Buffer.from('PATH') }] },
    lastFailure: { encodedAttributes: { metadata: {}, data: Buffer.from('WHY') } },
  });
  return {
    pendingActivities: [PendingActivityInfo.decode(PendingActivityInfo.encode(info).finish())],
  };
}

it('all payloads of a message are decoded, wherever they are, and all else stays', async () => {
  const { pendingActivities } = await withOpenPayloads(described(), [codec]);

  const [activity] = pendingActivities;
  const texts = [
    activity?.heartbeatDetails?.payloads?.[0]?.data,
    activity?.lastFailure?.encodedAttributes?.data,
  ].map((data) => Buffer.from(data ?? []).toString());
  expect(texts).toEqual(['path', 'why']);
  expect(activity).toMatchObject({ activityId: 'A' });
  // A default of the message, which is in its prototype.
  expect(activity?.attempt).toBe(0);
});

it('a message is left as it is without a codec', async () => {
  const message = described();

  expect(await withOpenPayloads(message, [])).toBe(message);
});
