/** The controllers tell of what the watch of the only cluster worker has yet to show, to a rollout that nobody tells again. */

import { poolRolloutId } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

const POOL = { maxUnavailable: 1, configs: [1, 2, 3].map(rebootingConfig) };

jest.setTimeout(600_000);

/** Every node is in the hands of a person, and nothing was heard for so long that the rollout looks seldom. */
async function longBlocked() {
  const { world, run } = await quietWorld({ pool: POOL });
  const [, worker] = world.workers;
  if (worker === undefined) throw new Error('there is no second cluster worker');
  const nodes = [...world.cluster.nodes.keys()];
  nodes.forEach((node) => world.cordon(node));
  world.controllers.begin();
  await run(31 * MINUTE_MS);
  world.onlyWorker = worker;
  expect(world.rollout('worker')).toMatchObject({ state: 'Blocked', grants: [] });
  const uncordon = () => nodes.forEach((node) => world.uncordon(node));
  const updates = () => world.temporal.open().filter(({ id }) => id !== poolRolloutId('worker'));
  return { world, run, late: worker.picture, uncordon, updates };
}

it('goes on as soon as the watch shows it', async () => {
  const { world, run, late, uncordon, updates } = await longBlocked();
  late.nodes.delayMs = 40 * SECOND_MS;

  uncordon();

  await run(30 * SECOND_MS);
  expect(updates()).toEqual([]);
  await run(30 * SECOND_MS);
  expect(updates()).not.toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

it('learns of another config as soon as the watch of the pools shows it', async () => {
  const { world, run, late } = await longBlocked();
  late.pools.delayMs = 30 * SECOND_MS;

  world.render('worker', 'rendered-worker-3');
  await run(MINUTE_MS);

  expect(world.rollout('worker')?.config).toBe('rendered-worker-3');
  expect(world.invariants.violations).toEqual([]);
});

it('goes on after minutes without what no watch will ever show, also when it is told again', async () => {
  const { world, run, uncordon, updates } = await longBlocked();
  const versions = { nodes: 1e9, pools: 1e9, machineConfigNodes: 1e9 };
  const tell = () => world.temporal.signal(poolRolloutId('worker'), 'wake', { atLeast: versions });
  tell();
  await run(5 * MINUTE_MS);
  tell();
  uncordon();
  await run(2 * MINUTE_MS);

  expect(updates()).not.toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
