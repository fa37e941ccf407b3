import { growthOf, grownIn, tooShort } from '../../../bench/growth';

const rounds = (...mib: readonly number[]) => mib.map((temporal) => ({ temporal }));

it('compares the second quarter with the last, by the median', () => {
  expect(growthOf(rounds(900, 10, 100, 140, 150, 160, 200, 400))).toEqual({
    temporal: { early: 100, late: 200, most: 900 },
  });
});

it('has something to say of a single round', () => {
  expect(growthOf(rounds(70))).toEqual({ temporal: { early: 70, late: 70, most: 70 } });
});

const STEADY = {
  rounds: 60,
  minutes: 60,
  collectedRssMiB: { server: { early: 140, late: 150, most: 190 } },
  liveMiB: { server: { early: 27.7, late: 31, most: 35 } },
  objects: {
    machineConfigs: { first: 8, last: 13 },
    machineConfigNodes: { first: 200, last: 200 },
    events: { first: 900, last: 90_000 },
  },
};

it('has nothing against noise, events, and the configs that are kept for a rollback', () => {
  expect(grownIn(STEADY)).toEqual([]);
});

it.each([
  [
    'a process of Slipway',
    { collectedRssMiB: { 'cluster-worker': { early: 300, late: 340, most: 350 } } },
    'memory of cluster-worker: 300 MiB, then 340 MiB',
  ],
  [
    'a small process of Slipway',
    { collectedRssMiB: { server: { early: 100, late: 117, most: 117 } } },
    'memory of server: 100 MiB, then 117 MiB',
  ],
  [
    'what is reachable in a process',
    { liveMiB: { 'cluster-worker': { early: 120, late: 126.5, most: 130 } } },
    'live memory of cluster-worker: 120 MiB, then 126.5 MiB',
  ],
  [
    'what is reachable in a small process',
    { liveMiB: { server: { early: 27.7, late: 31.9, most: 33 } } },
    'live memory of server: 27.7 MiB, then 31.9 MiB',
  ],
  [
    'rendered configs',
    { objects: { machineConfigs: { first: 8, last: 14 } } },
    'machineConfigs: 8, then 14',
  ],
  ['leases', { objects: { leases: { first: 210, last: 211 } } }, 'leases: 210, then 211'],
])('names what grew: %s', (_what, change, sentence) => {
  expect(grownIn({ ...STEADY, ...change })).toEqual([sentence]);
});

it.each([
  [{ rounds: 7 }, '7 rounds in 60 minutes; it takes 8 in 30'],
  [{ minutes: 29 }, '60 rounds in 29 minutes; it takes 8 in 30'],
])('does not judge %j, and says why', (change, sentence) => {
  expect(grownIn({ ...STEADY, ...change })).toBeUndefined();
  expect(tooShort({ ...STEADY, ...change })).toBe(sentence);
});
