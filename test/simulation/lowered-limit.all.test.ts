/** A limit that is lowered while nobody can use the slots that were given for a higher one. */

import { shippedSandbox } from './many-seeds';
import { quietWorld } from './quiet-world';
import type { ActivityPlants } from './world/plants';

/** In each, everything takes another time: how far apart the two cordons come, and when they are seen. */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

const POLICY = { canary: { nodes: 0 }, failureThreshold: '100%', prepareAhead: 2 };

beforeAll(() => shippedSandbox(), 180_000);

/** Both nodes have a slot when the API server goes away, and one of them may use it when it is back. */
async function twoSlotsForOne(seed: number, plants: ActivityPlants = {}) {
  const pool = { maxUnavailable: 2, policy: POLICY };
  const { world, run } = await quietWorld({ seed, pool, plants });
  world.controllers.begin();
  world.atNextSlot = () => {
    world.cluster.isAway = true;
  };
  const slots = async () => (await world.progress('worker'))?.slots ?? [];
  for (let i = 0; i < 1_000 && (await slots()).length < 2; i += 1) await run(100);
  const granted = await slots();
  world.limit('worker', 1);
  // Longer than anybody may still decide by the limit of before.
  await run(12_000);
  world.cluster.isAway = false;
  await run(10 * 60_000);
  const { violations } = world.invariants;
  return { granted: granted.length, violations: violations.map(({ invariant }) => invariant) };
}

describe('two slots of which a lower limit leaves one', () => {
  it('are not used side by side', async () => {
    for (const seed of SEEDS) {
      await expect(twoSlotsForOne(seed)).resolves.toEqual({ granted: 2, violations: [] });
    }
  }, 120_000);

  it('are, when nobody minds which slot it is: planted, and found', async () => {
    const found: string[] = [];
    for (const seed of SEEDS) {
      found.push(...(await twoSlotsForOne(seed, { overlooksNumbers: true })).violations);
    }
    expect([...new Set(found)]).toEqual(['I1']);
  }, 120_000);
});
