import { refillFigures, refillTimes } from '../../../bench/rollout';

test('the first nodes take the place of no other', () => {
  expect(refillTimes([0, 1, 2], [10, 20, 30])).toEqual([]);
});

test('each cordon takes the place that has been empty for longest', () => {
  expect(refillTimes([0, 1, 130, 150, 170], [100, 120, 160])).toEqual([30, 30, 10]);
});

test('after a canary, most take the place of no other', () => {
  expect(refillTimes([0, 110, 111, 112], [100, 200])).toEqual([10]);
});

test('a repair beyond the limit is not paired with what comes later', () => {
  expect(refillTimes([0, 50, 200], [100, 300])).toEqual([100]);
});

test('of refills there are figures, and none where no node took the place of another', () => {
  expect(refillFigures([30, 30, 10])).toEqual({ refillMs: { p50: 30, p99: 30 } });
  expect(refillFigures(refillTimes([0, 1, 2], [10, 20, 30]))).toEqual({});
});
