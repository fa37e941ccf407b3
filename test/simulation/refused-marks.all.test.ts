/** The API server refuses to write the pool of a rollout that a person has started, in otherwise quiet weather. */

import { ANNOTATION, poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { World } from './world/world';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const POOL = {
  maxUnavailable: 1,
  configs: [1, 2].map(rebootingConfig),
  policy: { trigger: 'Manual' as const, canary: { nodes: 0 } },
};

jest.setTimeout(600_000);

function startedConfig(world: World): string | undefined {
  return world.cluster.pool('worker').metadata.annotations?.[ANNOTATION.ROLLOUT_STARTED];
}

/** Nobody can be taken, so it waits for as long as it takes. */
async function waitingRollout() {
  const { world, run } = await quietWorld({ pool: POOL });
  const nodes = [...world.cluster.nodes.keys()];
  for (const node of nodes) world.cordon(node);
  world.cluster.refusesPools = true;
  world.controllers.begin();
  world.startByHand('worker');
  return { world, run, nodes };
}

it('a start is remembered once the pool takes it, so that a rollout that is lost is started again', async () => {
  const { world, run, nodes } = await waitingRollout();
  await run(3 * HOUR_MS);
  expect(startedConfig(world)).toBeUndefined();

  world.cluster.refusesPools = false;
  await run(MINUTE_MS);
  expect(startedConfig(world)).toBe('rendered-worker-2');

  for (const node of nodes) world.uncordon(node);
  const isOut = () => nodes.some((node) => world.cluster.node(node).spec?.unschedulable === true);
  await until(run, isOut);
  for (const id of [poolRolloutId('worker'), ...nodes.map(updateNodeId)]) await world.terminate(id);
  await run(HOUR_MS);

  expect([...world.hosts.values()].map(({ os }) => os)).toEqual(['os-2', 'os-2']);
  expect(isOut()).toBe(false);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

it('a start is forgotten once the pool takes that', async () => {
  const { world, run } = await quietWorld({ pool: POOL });
  world.startByHand('worker');
  await until(run, () => startedConfig(world) !== undefined);
  world.cluster.refusesPools = true;
  await run(3 * HOUR_MS);
  expect(world.rollout('worker')).toMatchObject({
    state: 'Completed',
  });

  world.cluster.refusesPools = false;
  await run(MINUTE_MS);

  expect(startedConfig(world)).toBeUndefined();
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
