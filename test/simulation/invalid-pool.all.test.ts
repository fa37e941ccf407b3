/** A pool whose limit nobody can mean, where no rule of its CRD has refused it, in quiet weather. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const MINUTE_MS = 60_000;

const POOL = {
  maxUnavailable: 1,
  configs: [1, 2].map(rebootingConfig),
  policy: { canary: { nodes: 0 } },
};

jest.setTimeout(600_000);

/** A node is out of service, and its update is about to be lost. */
async function nodeOutOfService() {
  const { world, run } = await quietWorld({ pool: POOL });
  const nodes = [...world.cluster.nodes.keys()];
  const out = () => nodes.filter((node) => world.cluster.node(node).spec?.unschedulable === true);
  world.controllers.begin();
  await until(run, () => out().length > 0);
  const [node = ''] = out();
  world.limit('worker', 0);
  await run(1_000);
  return { world, run, node, out };
}

it.each(['its update', 'its update, and the rollout'])(
  'a node that lost %s is finished',
  async (what) => {
    const { world, run, node, out } = await nodeOutOfService();
    if (what.includes('rollout')) await world.terminate(poolRolloutId('worker'));
    await world.terminate(updateNodeId(node));

    await run(30 * MINUTE_MS);

    expect(out()).toEqual([]);
    expect([...world.hosts.values()].map(({ os }) => os).sort()).toEqual(['os-1', 'os-2']);
    const { state, blocker } = world.rollout('worker') ?? {};
    expect({ state, blocker }).toEqual({
      state: 'Blocked',
      blocker: expect.stringContaining('spec.maxUnavailable is 0') as string,
    });

    world.limit('worker', 1);
    await run(30 * MINUTE_MS);
    expect(world.temporal.open()).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  },
);

it('the update of a Node that is deleted ends', async () => {
  const { world, run, node } = await nodeOutOfService();
  expect(world.temporal.isRunning(updateNodeId(node))).toBe(true);

  world.deleteNode(node);
  await run(MINUTE_MS);

  expect(world.temporal.isRunning(updateNodeId(node))).toBe(false);
  expect(world.invariants.violations).toEqual([]);
});
