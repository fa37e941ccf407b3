import { growthOf } from '../../../bench/churn';

const rounds = (...mib: readonly number[]) => mib.map((temporal) => ({ temporal }));

it('compares the second quarter with the last, by the median', () => {
  expect(growthOf(rounds(900, 10, 100, 140, 150, 160, 200, 400))).toEqual({
    temporal: { early: 100, late: 200, most: 900 },
  });
});

it('has something to say of a single round', () => {
  expect(growthOf(rounds(70))).toEqual({ temporal: { early: 70, late: 70, most: 70 } });
});
