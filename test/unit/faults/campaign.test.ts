import { BOUNDARIES, SERVICE_BOUNDARIES } from '../../faults/support/boundaries';
import {
  at,
  campaign,
  type Campaign,
  plannedStrikes,
  serviceStrikes,
  type Strike,
  WAY_BACK_MOMENTS,
  wayBackStrikes,
} from '../../faults/support/campaign';
import { BLOWS, type Victim, VICTIMS } from '../../faults/support/strike';

type Plan = (campaign: Campaign, victim: Victim) => readonly Strike<string>[];

const PLANS: readonly (readonly [string, Plan, readonly string[]])[] = [
  ['processes', plannedStrikes, BOUNDARIES],
  ['services', serviceStrikes, SERVICE_BOUNDARIES],
  ['way back', wayBackStrikes, WAY_BACK_MOMENTS],
];

test('without settings it is the part of the table for npm test', () => {
  expect(campaign({})).toEqual({ rounds: 0, seed: 1 });
  expect(campaign({ SLIPWAY_FAULTS_ROUNDS: '10', SLIPWAY_FAULTS_SEED: '7' })).toEqual({
    ...{ rounds: 10, seed: 7 },
  });
});

test.each(['abc', '-1', '0.5', ''])('%j is no number of rounds, and no seed', (text) => {
  for (const name of ['SLIPWAY_FAULTS_ROUNDS', 'SLIPWAY_FAULTS_SEED']) {
    const why = `${name}: give a whole number from 0 on, not ${text}`;
    expect(() => campaign({ [name]: text })).toThrow(why);
  }
});

describe.each(PLANS)('%s', (_name, plan, places) => {
  test('rounds strike each process at each place in each way, so often', () => {
    for (const victim of VICTIMS) {
      const strikes = plan({ rounds: 2, seed: 1 }, victim);
      const told = strikes.map(({ boundary, blow }) => `${blow} at ${boundary}`);
      const all = BLOWS.flatMap((blow) => places.map((place) => `${blow} at ${place}`));
      expect([...told].sort()).toEqual([...all, ...all].sort());
    }
  });

  test.each([NaN, -1, 0.5])('%d rounds are refused: nothing would be struck', (rounds) => {
    expect(() => plan({ rounds, seed: 1 }, 'etcd')).toThrow(`${rounds} rounds strike nothing`);
  });

  test('without rounds each place is struck, whatever the seed', () => {
    for (const seed of [0, 1, 2, 7, 1000]) {
      const strikes = VICTIMS.flatMap((victim) => plan({ rounds: 0, seed }, victim));
      const struck = new Set(strikes.map(({ boundary }) => boundary));
      expect([seed, [...struck].sort()]).toEqual([seed, [...places].sort()]);
    }
  });

  test('a seed that is no number strikes nothing in its place', () => {
    expect(() => plan({ rounds: 0, seed: NaN }, 'etcd')).toThrow('there is no NaN among');
  });
});

test('a place in a list that is not there is no other place', () => {
  expect(at(BLOWS, 2)).toBe('restart');
  expect(() => at(BLOWS, 3)).toThrow('there is no 3 among kill, freeze, restart');
});
