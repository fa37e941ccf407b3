/** A rollout that is cancelled while the API server is away has nobody to wait for, and waits all the same. */

import { poolRolloutId } from '../../core/names';
import { quietWorld } from './quiet-world';

const MINUTE_MS = 60_000;

it('names the pool that it cannot write, and ends when it can', async () => {
  const { world, run } = await quietWorld({ nodes: 2 });
  for (const node of world.cluster.nodes.keys()) world.cordon(node);
  world.controllers.begin();
  await run(MINUTE_MS);
  world.cluster.isAway = true;
  expect(world.temporal.cancel(poolRolloutId('worker'))).toBe(true);

  await run(20 * MINUTE_MS);

  expect(await world.progress('worker')).toMatchObject({
    state: 'Cancelling',
    blocker: 'waiting for its pool to remember that it was cancelled',
  });

  world.cluster.isAway = false;
  await run(2 * MINUTE_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
}, 120_000);
