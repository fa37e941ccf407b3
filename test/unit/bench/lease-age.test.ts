import { oldestOf, watchLeases } from '../../../bench/lease-age';
import type { ApiClient } from '../../../tools/cluster/api-client';

const AT = '2026-01-01T00:02:00Z';

function leases(...renewTimes: readonly (string | undefined)[]) {
  return { items: renewTimes.map((renewTime) => ({ spec: renewTime ? { renewTime } : {} })) };
}

it('is that of the Lease that was renewed first', () => {
  const list = leases('2026-01-01T00:01:50.500000Z', undefined, '2026-01-01T00:00:30.000000Z', AT);

  expect(oldestOf(list, Date.parse(AT))).toBe(90_000);
  expect(oldestOf(leases(), Date.parse(AT))).toBe(0);
});

it('says how many looks got no answer', async () => {
  const call = () => Promise.reject(new Error('429 too many'));
  const watch = watchLeases({ call, send: call, close: () => undefined });

  await watch.stop();

  expect(watch.soFar()).toEqual({ oldestSeconds: 0, looks: 1, failedLooks: 1 });
});

it('keeps the oldest that it has seen', async () => {
  const renewTime = new Date(Date.now() - 100_000).toISOString();
  const call = () => Promise.resolve(leases(renewTime));
  const watch = watchLeases({ call, send: call, close: () => undefined } as unknown as ApiClient);

  await watch.stop();

  expect(watch.soFar()).toMatchObject({ looks: 1, failedLooks: 0 });
  expect(watch.soFar().oldestSeconds).toBeGreaterThanOrEqual(100);
});
