import { Standstill } from '../../../bench/standstill';

/** One check per second; `cordonAt` gives the time of the last cordon. */
function watch(seconds: number, cordonAt: (second: number) => number, hasRoom = true) {
  const standstill = new Standstill();
  const told: number[] = [];
  for (let second = 0; second <= seconds; second += 1) {
    if (standstill.look(second * 1_000, cordonAt(second), hasRoom)) told.push(second);
  }
  return { told, longestSeconds: standstill.longestMs / 1_000 };
}

it('is reported after a minute without a cordon, and then at intervals', () => {
  expect(watch(125, () => 3)).toEqual({ told: [60, 90, 120], longestSeconds: 125 });
});

it('begins anew with each cordon, and the longest counts', () => {
  const cordonAt = (second: number) => Math.min(Math.floor(second / 40), 2);
  expect(watch(100, cordonAt)).toEqual({ told: [], longestSeconds: 39 });
  expect(watch(160, cordonAt)).toEqual({ told: [140], longestSeconds: 80 });
});

it('is none where no further node may be out, or none waits', () => {
  expect(watch(300, () => 3, false)).toEqual({ told: [], longestSeconds: 0 });
});
