import { scenarioOf } from './scenario';

describe('the pool of a seed', () => {
  it('has any number of nodes from 1 to 200', () => {
    const hundreds = Array.from({ length: 2_000 }, (_, index) => 100 * index);
    const seeds = hundreds.flatMap((hundred) => [1, 4, 39, 99].map((one) => hundred + one));

    const drawn = new Set(seeds.map((seed) => scenarioOf(seed).nodes));

    const every = Array.from({ length: 200 }, (_, index) => 1 + index);
    expect([...drawn].sort((one, other) => one - other)).toEqual(every);
  });

  it('is large in few of the first 300 seeds, and as large as it can be in one', () => {
    const seeds = Array.from({ length: 300 }, (_, index) => 1 + index);

    const counts = seeds.map((seed) => scenarioOf(seed).nodes);

    expect(counts.filter((count) => count > 40)).toHaveLength(3);
    expect(counts.filter((count) => count === 200)).toHaveLength(1);
  });
});
