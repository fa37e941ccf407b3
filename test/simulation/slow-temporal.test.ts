/** A Temporal that takes long for each message, in quiet weather: the history of a rollout stays short all the same. */

import { quietWorld, rebootingConfig } from './quiet-world';

const MINUTE_MS = 60_000;
const LONG = 200;

const POOL = {
  maxUnavailable: 4,
  configs: [1, 2, 3, 4].map(rebootingConfig),
  policy: {
    canary: { nodes: 0 },
    prepareAhead: 4,
    failureThreshold: '100%',
    verify: { readySeconds: 0, reconnectSeconds: 300 },
  },
};

jest.setTimeout(120_000);

it.each([1, 2])(
  'hands over to a new run before its history is twice as long as suggested (seed %d)',
  async (seed) => {
    const story = { seed, nodes: 40, pool: POOL, longHistory: LONG };
    const { world, run, trace } = await quietWorld(story);
    jest.spyOn(world.faults, 'holdsUpMs').mockReturnValue(25_000);
    world.controllers.begin();

    await run(6 * 60 * MINUTE_MS);

    const lengths = trace.last(1_000_000).flatMap((line) => {
      const [, events] =
        / pool-rollout\/worker: continues as new after (\d+) events/.exec(line) ?? [];
      return events === undefined ? [] : [Number(events)];
    });
    expect(lengths.length).toBeGreaterThan(3);
    expect(Math.max(...lengths)).toBeLessThan(2 * LONG);
    expect(world.temporal.open()).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  },
);
