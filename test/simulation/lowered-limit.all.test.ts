/** A limit that is lowered while nobody can use the grants that were given for a higher one. */

import { poolRolloutId } from '../../core/names';
import { shippedSandbox } from './many-seeds';
import { NO_LAST_LOOK } from './plants';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import { plantedCode } from './world/planted-code';
import type { ActivityPlants } from './world/plants';

/** In each, everything takes another time: how far apart the two cordons come, and when they are seen. */
const SEEDS = [1, 2, 3, 4, 5];
const SECOND_MS = 1_000;

const POOL = {
  maxUnavailable: 2,
  configs: [1, 2].map(rebootingConfig),
  policy: { canary: { nodes: 0 }, failureThreshold: '100%', prepareAhead: 2 },
};

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

/** Both nodes have a grant when the API server goes away, and one of them may use it when it is back. */
async function twoGrantsForOne(seed: number, plants: ActivityPlants = {}) {
  const { world, run } = await quietWorld({ seed, pool: POOL, plants });
  world.controllers.begin();
  const updates = () => world.temporal.open().filter(({ id }) => id !== poolRolloutId('worker'));
  await until(run, () => updates().length === 2);
  world.ask('worker', 'pause', { reason: 'both are to be prepared' });
  await until(run, () => world.waiting().length === 2, SECOND_MS);
  await run(20 * SECOND_MS);
  world.atNextGrant = () => {
    world.cluster.isAway = true;
  };
  world.ask('worker', 'resume', {});
  await until(run, () => world.cluster.isAway);
  const granted = world.grants('worker').length;
  world.limit('worker', 1);
  // Longer than anybody may still decide by the limit of before.
  await run(30 * SECOND_MS);
  world.cluster.isAway = false;
  await run(10 * 60 * SECOND_MS);
  const found = world.invariants.violations.map(({ invariant }) => invariant);
  const boots = [...world.hosts.values()].map(({ boot }) => boot);
  return { granted, boots, found: [...new Set(found)] };
}

describe('two grants of which a lower limit leaves one', () => {
  it.each(SEEDS)('are used one after the other (seed %i)', async (seed) => {
    await expect(twoGrantsForOne(seed)).resolves.toEqual({ granted: 2, boots: [2, 2], found: [] });
  });

  it('are used side by side where nobody looks for room once more: planted, and found', async () => {
    const code = plantedCode([NO_LAST_LOOK], 'nobody looks for room once more');
    const found = await twoGrantsForOne(1, { code });
    expect(found).toMatchObject({ granted: 2, found: ['I1'] });
  });
});
