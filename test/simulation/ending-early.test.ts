/** A rollout that ends before its time: cancelled, or with its pool. In quiet weather. */

import { ANNOTATION, poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';
import type { World } from './world/world';

const MINUTE_MS = 60_000;

const POOL = { maxUnavailable: 1, configs: [1, 2, 3, 4].map(rebootingConfig) };
/** A machine that is down for its reboot may be so for twenty minutes. */
const PATIENT = { canary: { nodes: 0 }, reboot: { timeoutSeconds: 1200 } };

jest.setTimeout(120_000);

it('goes on writing down that it is cancelled, and ends when it can', async () => {
  const { world, run } = await quietWorld({ nodes: 2 });
  for (const node of world.cluster.nodes.keys()) world.cordon(node);
  world.controllers.begin();
  await run(MINUTE_MS);
  world.cluster.isAway = true;
  expect(world.temporal.cancel(poolRolloutId('worker'))).toBe(true);

  await run(20 * MINUTE_MS);

  const rollout = world.temporal.find(poolRolloutId('worker'));
  expect(rollout?.underWay().steps).toEqual(['writeWord']);

  world.cluster.isAway = false;
  await run(2 * MINUTE_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

/** The first machine that goes down for its reboot never comes back. */
async function machineThatDies(world: World, run: (ms: number) => Promise<void>): Promise<string> {
  world.controllers.begin();
  const down = () => [...world.hosts.values()].find(({ isUp }) => !isUp);
  while (down() === undefined) await run(50);
  const host = down();
  host?.breakDown();
  return host?.name ?? '';
}

it('waits for no update of a Node that is deleted, and takes the next config at once', async () => {
  const { world, run } = await quietWorld({
    seed: 3,
    nodes: 4,
    pool: { ...POOL, policy: PATIENT },
  });
  const node = await machineThatDies(world, run);
  world.temporal.cancel(poolRolloutId('worker'));
  await run(MINUTE_MS);
  expect(world.temporal.isRunning(updateNodeId(node))).toBe(true);

  world.deleteNode(node);
  world.render('worker', 'rendered-worker-3');
  await run(3 * MINUTE_MS);

  expect([...world.hosts.values()].some(({ os }) => os === 'os-3')).toBe(true);
  await run(60 * MINUTE_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

function cancelledConfig(world: World): string | undefined {
  return world.cluster.pool('worker').metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED];
}

it('remembers that it was cancelled before its first look', async () => {
  const { world, run } = await quietWorld({ pool: POOL });
  world.controllers.begin();
  while (!world.temporal.isRunning(poolRolloutId('worker'))) await run(10);

  expect(world.temporal.cancel(poolRolloutId('worker'))).toBe(true);
  await run(20 * MINUTE_MS);

  expect(cancelledConfig(world)).toBe('rendered-worker-2');
  expect([...world.hosts.values()].map(({ os }) => os)).toEqual(['os-1', 'os-1']);
  expect(world.invariants.violations).toEqual([]);
});

it('remembers that it was cancelled also where rendered configs cannot be read', async () => {
  const { world, run } = await quietWorld({ pool: POOL });
  world.cluster.forbidsConfigs = true;
  world.controllers.begin();
  await run(2 * MINUTE_MS);

  expect(world.temporal.cancel(poolRolloutId('worker'))).toBe(true);
  await run(2 * MINUTE_MS);
  world.cluster.forbidsConfigs = false;
  await run(20 * MINUTE_MS);

  expect(cancelledConfig(world)).toBe('rendered-worker-2');
  expect(world.temporal.open()).toEqual([]);
  expect([...world.hosts.values()].map(({ os }) => os)).toEqual(['os-1', 'os-1']);
  expect(world.invariants.violations).toEqual([]);
});

it('remembers that it was cancelled also where the rendered config does not exist', async () => {
  const { world, run } = await quietWorld({ pool: POOL });
  world.render('worker', 'rendered-worker-gone');
  world.controllers.begin();
  await run(2 * MINUTE_MS);

  expect(world.temporal.cancel(poolRolloutId('worker'))).toBe(true);
  await run(5 * MINUTE_MS);

  expect(cancelledConfig(world)).toBe('rendered-worker-gone');
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

it('remembers the config that was cancelled, not the one that the pool has when all updates have ended', async () => {
  const { world, run } = await quietWorld({
    ...{ seed: 3, nodes: 4 },
    pool: { ...POOL, policy: PATIENT },
  });
  const node = await machineThatDies(world, run);
  await world.terminate(poolRolloutId('worker'));
  world.cluster.forbidsConfigs = true;
  await run(2 * MINUTE_MS);
  expect(world.temporal.cancel(poolRolloutId('worker'))).toBe(true);
  await run(2 * MINUTE_MS);
  expect(world.temporal.isRunning(updateNodeId(node))).toBe(true);

  world.render('worker', 'rendered-worker-3');
  world.cluster.forbidsConfigs = false;
  await run(MINUTE_MS);

  expect(cancelledConfig(world)).toBe('rendered-worker-2');
  expect(world.invariants.violations).toEqual([]);
});
