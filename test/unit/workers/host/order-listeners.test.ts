import { tellListeners } from '../../../../workers/host/order-listeners';
import type { HostActivities } from '../../../../workflows/contracts/host';

const ORDER = {
  orderId: 'update-node/worker-1/run-1/applyUpdate',
  step: 'applyUpdate' as const,
  pool: { name: 'worker', uid: 'pool-1', generation: 1 },
  issuedAt: '2029-12-31T00:00:00Z',
  node: 'worker-1',
  config: { name: 'rendered-worker-1', digest: '' },
  disruptionPolicies: {},
  notAfter: '2030-01-01T00:00:00Z',
  reconnectSeconds: 600,
};

let heard: string[];
beforeEach(() => {
  heard = [];
});

function applying(applyUpdate: HostActivities['applyUpdate']): HostActivities {
  return tellListeners({ applyUpdate } as HostActivities, {
    onWriting: ({ orderId }) => heard.push(orderId),
    onCarriedOut: () => heard.push('carried out'),
    onEnded: () => heard.push('ended'),
  });
}

it('is notified of an order that is carried out, which is answered nevertheless', async () => {
  const answer = { files: 1, units: 0 };

  expect(await applying(() => Promise.resolve(answer)).applyUpdate(ORDER)).toBe(answer);

  expect(heard).toEqual([ORDER.orderId, 'carried out', 'ended']);
});

it('is notified of the end of a failing order: it may have written what cuts the machine off', async () => {
  const applied = applying(() => Promise.reject(new Error('cut off'))).applyUpdate(ORDER);

  await expect(applied).rejects.toThrow('cut off');
  expect(heard).toEqual([ORDER.orderId, 'ended']);
});

it('does not take an order for one that writes, which does not', async () => {
  const verifyUpdate = () => Promise.reject(new Error('not yet'));
  const listeners = { onCarriedOut: jest.fn(), onEnded: jest.fn(), onWriting: jest.fn() };
  const { verifyUpdate: noted } = tellListeners(
    { verifyUpdate } as unknown as HostActivities,
    listeners,
  );

  await expect(noted({ ...ORDER, commitWithinSeconds: 60 })).rejects.toThrow('not yet');
  expect([listeners.onWriting, listeners.onEnded].map((one) => one.mock.calls.length)).toEqual([
    0, 1,
  ]);
});
