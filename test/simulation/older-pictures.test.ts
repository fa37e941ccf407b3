/** The controllers tell of what the watch of the only cluster worker has yet to show, to a rollout that nobody tells again. */

import { poolRolloutId } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

const POOL = { maxUnavailable: 1, configs: [1, 2, 3].map(rebootingConfig) };

jest.setTimeout(600_000);

/** Every node is in the hands of a person, and nothing was heard for so long that the rollout looks seldom. */
async function longBlocked() {
  const { world, run } = await quietWorld({ pool: POOL, twoWorkers: true });
  const late = world.cluster.pictures[1];
  if (late === undefined) throw new Error('there is no second cluster worker');
  const nodes = [...world.cluster.nodes.keys()];
  nodes.forEach((node) => world.cordon(node));
  world.controllers.begin();
  await run(31 * MINUTE_MS);
  world.onlyWorker = late;
  const progress = async () => {
    const found = await world.progress('worker');
    if (found === undefined) throw new Error('there is no rollout');
    return found;
  };
  expect(await progress()).toMatchObject({ state: 'Blocked', children: [] });
  const uncordon = () => nodes.forEach((node) => world.uncordon(node));
  return { world, run, late, progress, uncordon };
}

it('goes on as soon as the watch shows it, and says until then what it waits for', async () => {
  const { world, run, late, progress, uncordon } = await longBlocked();
  late.nodes.delayMs = 90 * SECOND_MS;

  uncordon();

  await run(60 * SECOND_MS);
  expect((await progress()).blocker).toMatch(/the watch of nodes is behind/);
  late.nodes.delayMs = 0;
  await run(60 * SECOND_MS);
  expect((await progress()).children).not.toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

it('learns of another config as soon as the watch of the pools shows it', async () => {
  const { world, run, late, progress } = await longBlocked();
  late.pools.delayMs = 30 * SECOND_MS;

  world.render('worker', 'rendered-worker-3');
  await run(MINUTE_MS);

  expect((await progress()).config).toBe('rendered-worker-3');
  expect(world.invariants.violations).toEqual([]);
});

it('goes on after minutes without what no watch will ever show, also when it is told again', async () => {
  const { world, run, progress, uncordon } = await longBlocked();
  const versions = { nodes: 1e9, pools: 1e9, policies: 1e9 };
  const tell = () => {
    const news = { reason: 'of a cluster before its backup', versions };
    world.temporal.signal(poolRolloutId('worker'), 'clusterChanged', news);
  };
  tell();
  await run(MINUTE_MS);
  expect((await progress()).blocker).toMatch(/is behind: version 1000000000 /);
  await run(4 * MINUTE_MS);
  expect((await progress()).blocker).not.toMatch(/is behind/);

  tell();
  uncordon();
  await run(20 * SECOND_MS);

  expect((await progress()).children).not.toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
