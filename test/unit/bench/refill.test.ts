import { refillFigures, refillTimes } from '../../../bench/rollout';

test('slots that are taken for the first time are no refills', () => {
  expect(refillTimes([0, 1, 2], [10, 20, 30])).toEqual([]);
});

test('each cordon takes the slot that has been free for longest', () => {
  expect(refillTimes([0, 1, 130, 150, 170], [100, 120, 160])).toEqual([30, 30, 10]);
});

test('after a canary the other slots are used for the first time', () => {
  expect(refillTimes([0, 110, 111, 112], [100, 200])).toEqual([10]);
});

test('a repair beyond the slots is not paired with what is freed later', () => {
  expect(refillTimes([0, 50, 200], [100, 300])).toEqual([100]);
});

test('of refills there are figures, and none where no slot was used twice', () => {
  expect(refillFigures([30, 30, 10])).toEqual({ slotRefillMs: { p50: 30, p99: 30 } });
  expect(refillFigures(refillTimes([0, 1, 2], [10, 20, 30]))).toEqual({});
});
