/** How much is struck: a little in `npm test`, rounds of everything with `npm run faults`. */

import { BOUNDARIES, SERVICE_BOUNDARIES, type AnyBoundary } from './boundaries';
import { BLOWS, VICTIMS, type Blow, type Victim } from './strike';

/** From the environment, because jest takes no arguments of ours. */
export interface Campaign {
  readonly seed: number;
  /** 0 = the part of the table for `npm test`; else how often the whole table is struck. */
  readonly rounds: number;
}

export interface Strike {
  readonly victim: Victim;
  readonly boundary: AnyBoundary;
  readonly blow: Blow;
}

export function campaign(environment: NodeJS.ProcessEnv = process.env): Campaign {
  return {
    seed: Number(environment['SLIPWAY_FAULTS_SEED'] ?? 1),
    rounds: Number(environment['SLIPWAY_FAULTS_ROUNDS'] ?? 0),
  };
}

/**
 * The strikes of one process, in the order in which one rollout can take several of them. In the short
 * plan each process is struck in each way, and over all processes each boundary occurs.
 */
export function plannedStrikes({ rounds, seed }: Campaign, victim: Victim): readonly Strike[] {
  const index = VICTIMS.indexOf(victim);
  if (rounds === 0) {
    const places = BLOWS.map((_, turn) => (index + seed - 1 + 3 * turn) % BOUNDARIES.length);
    return [...places]
      .sort((a, b) => a - b)
      .map((place, turn) => ({
        victim,
        boundary: BOUNDARIES[place] ?? 'Applying',
        blow: BLOWS[(index + turn) % BLOWS.length] ?? 'kill',
      }));
  }
  return Array.from({ length: rounds }).flatMap(() =>
    BLOWS.flatMap((blow) => BOUNDARIES.map((boundary) => ({ victim, boundary, blow }))),
  );
}

/**
 * The strikes of one process at updates that reload and restart services. In the short plan each process
 * is killed while services are acted on, and struck once before or after it.
 */
export function serviceStrikes({ rounds, seed }: Campaign, victim: Victim): readonly Strike[] {
  const index = VICTIMS.indexOf(victim) + seed;
  if (rounds === 0) {
    const elsewhere = index % 2 === 0 ? 'Applying' : 'Verifying';
    return [
      { victim, boundary: 'Reloading', blow: 'kill' },
      { victim, boundary: elsewhere, blow: BLOWS[index % BLOWS.length] ?? 'kill' },
    ];
  }
  return Array.from({ length: rounds }).flatMap(() =>
    BLOWS.flatMap((blow) => SERVICE_BOUNDARIES.map((boundary) => ({ victim, boundary, blow }))),
  );
}

/** Numbers in [0, 1) that a seed gives again and again (mulberry32). */
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
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new Error('nothing to pick from');
  return found;
}
