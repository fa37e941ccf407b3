/** The API server is away for longer than steps wait for it, in otherwise quiet weather. */

import { ANNOTATION, poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const OUTAGE_MS = 70 * MINUTE_MS;

const POOL = {
  maxUnavailable: 2,
  configs: [rebootingConfig(1), rebootingConfig(2)],
  policy: {
    canary: { nodes: 1 },
    failureThreshold: 1,
    verify: { readySeconds: 0, reconnectSeconds: 300 },
  },
};

jest.setTimeout(120_000);

it.each([1, 2, 3])(
  'no rollout starts again by itself that was cancelled meanwhile (seed %d)',
  async (seed) => {
    const { world, run } = await quietWorld({ seed, nodes: 4, pool: POOL });
    world.controllers.begin();
    await until(run, () => world.temporal.isRunning(updateNodeId('node-001')));
    world.ask('worker', 'pause', { reason: 'change freeze' });
    await run(20 * SECOND_MS);
    world.cluster.isAway = true;
    world.temporal.cancel(poolRolloutId('worker'));

    await run(OUTAGE_MS);
    world.cluster.isAway = false;
    await run(5 * MINUTE_MS);
    world.ask('worker', 'resume', {});
    await run(30 * MINUTE_MS);

    const { metadata, spec } = world.cluster.pool('worker');
    expect(metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED]).toBe(spec.configuration?.name);
    expect(world.temporal.open()).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  },
);

it.each([1, 2, 3, 4])('no config fails by it, whatever a node was at (seed %d)', async (seed) => {
  const { world, run, trace } = await quietWorld({ seed, nodes: 4, pool: POOL });
  world.controllers.begin();
  const isCordoned = () =>
    [...world.cluster.nodes.values()].some(({ spec }) => spec?.unschedulable === true);
  await until(run, isCordoned);
  world.cluster.isAway = true;

  await run(OUTAGE_MS);
  world.cluster.isAway = false;
  await run(60 * MINUTE_MS);

  expect(trace.last(100_000).filter((line) => line.includes('Degraded'))).toEqual([]);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
