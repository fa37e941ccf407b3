/** Draws that are the same for the same seed. */
export interface Draws {
  /** From 0, below `limit`. */
  below(limit: number): number;
  chance(probability: number): boolean;
  of<T>(list: readonly T[]): T;
}

export function drawsOf(seed: number): Draws {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    chance: (probability) => next() < probability,
    of: (list) => {
      const drawn = list[below(list.length)];
      if (drawn === undefined) throw new Error('nothing to draw from');
      return drawn;
    },
  };
}
