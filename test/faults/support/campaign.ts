/** A sample in tests, rounds of everything with `npm run faults`. */

import { wholeNumberOf } from '../../../tools/whole-number';
import { BOUNDARIES, SERVICE_BOUNDARIES, type AnyBoundary } from './boundaries';
import { BLOWS, VICTIMS, type Blow, type Victim } from './strike';

/** From the environment, because jest takes no arguments of its own. */
export interface Campaign {
  readonly seed: number;
  /** 0 = the sample of tests. */
  readonly rounds: number;
}

/** The beginnings of the phases of a rollback. */
export const WAY_BACK_MOMENTS = ['GoingBack', 'RebootingBack', 'VerifyingBack'] as const;
export type WayBackMoment = (typeof WAY_BACK_MOMENTS)[number];

export interface Strike<Place = AnyBoundary> {
  readonly victim: Victim;
  readonly boundary: Place;
  readonly blow: Blow;
}

/** @throws Error for a text that is no number */
export function campaign(environment: NodeJS.ProcessEnv = process.env): Campaign {
  const numberIn = (name: string, otherwise: number): number => {
    const text = environment[name] ?? String(otherwise);
    const value = wholeNumberOf(text, 0);
    if (value !== undefined) return value;
    throw new Error(`${name}: give a whole number from 0 on, not ${text}`);
  };
  return {
    seed: numberIn('SLIPWAY_FAULTS_SEED', 1),
    rounds: numberIn('SLIPWAY_FAULTS_ROUNDS', 0),
  };
}

/**
 * In an order in which one rollout can take several. In the sample each process is struck in each
 * way, and each boundary occurs.
 */
export function plannedStrikes({ rounds, seed }: Campaign, victim: Victim): readonly Strike[] {
  if (rounds !== 0) return wholeTable(rounds, victim, BOUNDARIES);
  const index = VICTIMS.indexOf(victim);
  const last = BOUNDARIES.length - 1;
  const places = BLOWS.map((_, turn) => (index + seed + last + 3 * turn) % BOUNDARIES.length);
  return [...places]
    .sort((a, b) => a - b)
    .map((place, turn) => ({
      victim,
      boundary: at(BOUNDARIES, place),
      blow: at(BLOWS, (index + turn) % BLOWS.length),
    }));
}

/**
 * Strikes at updates that reload and restart services. In the sample each process is killed during
 * these actions, and struck once before or after them.
 */
export function serviceStrikes({ rounds, seed }: Campaign, victim: Victim): readonly Strike[] {
  if (rounds !== 0) return wholeTable(rounds, victim, SERVICE_BOUNDARIES);
  const index = VICTIMS.indexOf(victim) + seed;
  const elsewhere = index % 2 === 0 ? 'Applying' : 'Verifying';
  return [
    { victim, boundary: 'Reloading', blow: 'kill' },
    { victim, boundary: elsewhere, blow: at(BLOWS, index % BLOWS.length) },
  ];
}

export function wayBackStrikes(
  { rounds, seed }: Campaign,
  victim: Victim,
): readonly Strike<WayBackMoment>[] {
  if (rounds !== 0) return wholeTable(rounds, victim, WAY_BACK_MOMENTS);
  const index = VICTIMS.indexOf(victim);
  const boundary = at(WAY_BACK_MOMENTS, (index + seed) % WAY_BACK_MOMENTS.length);
  return [{ victim, boundary, blow: at(BLOWS, index % BLOWS.length) }];
}

/** @throws Error when the table is empty: no strike would always be survived */
function wholeTable<Place>(
  rounds: number,
  victim: Victim,
  places: readonly Place[],
): readonly Strike<Place>[] {
  const strikes = Array.from({ length: rounds }).flatMap(() =>
    BLOWS.flatMap((blow) => places.map((boundary) => ({ victim, boundary, blow }))),
  );
  if (strikes.length === 0) throw new Error(`${rounds} rounds strike nothing`);
  return strikes;
}

export function at<T>(from: readonly T[], index: number): T {
  const found = from[index];
  if (found === undefined) throw new Error(`there is no ${index} among ${from.join(', ')}`);
  return found;
}

/** In [0, 1), the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(random: () => number, from: readonly T[]): T {
  return at(from, Math.floor(random() * from.length));
}
