/** Nodes that are moved from pool to pool in the middle of an update that drains nothing, in quiet weather. */

import { ANNOTATION, NodeState, poolRolloutId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { World } from './world/world';

jest.setTimeout(600_000);

const MINUTE_MS = 60_000;
const SEEDS = [1, 2, 3];
const OF_WORKER = ['node-001', 'node-003', 'node-005'];
const OF_INFRA = ['node-002', 'node-004', 'node-006'];

/** It restarts a service, and its node serves meanwhile. */
function restartingConfig(pool: string, number: number) {
  const name = `rendered-${pool}-${number}`;
  return { ...rebootingConfig(number), name, os: 'os-1', drain: false, restartsService: true };
}

/** Two pools of three nodes each, one grant each, in which nodes are prepared before it is their turn. */
async function twoPools(seed: number, draining: readonly string[]) {
  const policy = {
    ...{ canary: { nodes: 0 }, failureThreshold: '100%', prepareAhead: 2 },
    verify: { readySeconds: 0, reconnectSeconds: 300 },
  };
  const pools = ['worker', 'infra'].map((name) => ({
    ...{ name, maxUnavailable: 1, policy },
    configs: [1, 2, 3, 4].map((number) =>
      draining.includes(name) ? rebootingConfig(number) : restartingConfig(name, number),
    ),
  }));
  return quietWorld({ seed, nodes: 6, pools });
}

function isWorking(world: World, name: string): boolean {
  return world.cluster.node(name).metadata.annotations?.[ANNOTATION.STATE] === NodeState.WORKING;
}

/** The first of a pool that an update works on; its host is out of Temporal's reach from then on, and its Node serves. */
async function cutOffAtWork(
  { world, run }: Awaited<ReturnType<typeof twoPools>>,
  names: readonly string[],
): Promise<string> {
  world.controllers.begin();
  let found: string | undefined;
  await until(run, () => (found = names.find((name) => isWorking(world, name))) !== undefined, 1);
  if (found === undefined) throw new Error('no update works on a node');
  world.hosts.get(found)?.setCut(true, false);
  return found;
}

const granted = (world: World) => world.grants('worker').map(({ node }) => node);

it.each(SEEDS)(
  'one that comes to a paused pool is met before anybody goes on (seed %d)',
  async (seed) => {
    const story = await twoPools(seed, ['worker']);
    const { world, run } = story;
    const moved = await cutOffAtWork(story, OF_INFRA);
    await until(run, () => world.waiting('worker').some((name) => OF_WORKER.includes(name)));
    world.ask('worker', 'pause', { reason: 'change freeze' });
    await until(run, () => granted(world).length === 0);

    world.move(moved, 'worker');
    await run(MINUTE_MS);
    expect(granted(world)).toEqual([moved]);
    world.ask('worker', 'resume', {});
    await run(MINUTE_MS);

    expect(granted(world)).toEqual([moved]);
    expect(world.invariants.violations).toEqual([]);
  },
);

const AWAY_MS = [300, 3_000];

describe.each(AWAY_MS)('one that is back after %d ms, before its update has ended', (awayMs) => {
  it.each(SEEDS)('has a grant, and is held by nobody (seed %d)', async (seed) => {
    const story = await twoPools(seed, []);
    const { world, run } = story;
    const moved = await cutOffAtWork(story, OF_WORKER);
    await run(2_000);
    world.move(moved, 'infra');
    await run(awayMs);
    world.move(moved, 'worker');
    await run(2 * MINUTE_MS);

    expect(world.invariants.violations).toEqual([]);
    world.hosts.get(moved)?.setCut(false, false);
    await until(run, () => !world.temporal.isRunning(poolRolloutId('worker')), 1_000);
    expect(world.invariants.violations).toEqual([]);
    expect(world.cluster.node(moved).metadata.annotations).not.toHaveProperty([
      ANNOTATION.HELD_FOR,
    ]);
  });
});

it.each(SEEDS)(
  'one that was moved takes no grant while the API server is away (seed %d)',
  async (seed) => {
    const story = await twoPools(seed, []);
    const { world, run } = story;
    const moved = await cutOffAtWork(story, OF_WORKER);
    await run(2_000);
    world.move(moved, 'infra');
    await until(run, () => !granted(world).includes(moved));
    world.cluster.isAway = true;
    for (let second = 0; second < 120; second += 1) {
      await run(1_000);
      expect(granted(world)).not.toContain(moved);
    }
  },
);
