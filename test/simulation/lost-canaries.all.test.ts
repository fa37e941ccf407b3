/** A node that tries a config for the others, whose update and rollout are lost while it does, in quiet weather. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';
import type { SimulatedConfig } from './world/journal';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** On the second one no node becomes Ready. */
function configOf(number: number): SimulatedConfig {
  return { ...rebootingConfig(number), neverReady: number === 2 };
}

async function canaryThatReboots(seed: number, prepareAhead = 1) {
  const pool = {
    maxUnavailable: 2,
    configs: [1, 2, 3, 4].map(configOf),
    policy: {
      canary: { nodes: 1 },
      failureThreshold: 1,
      prepareAhead,
      verify: { readySeconds: 10, reconnectSeconds: 300 },
    },
  };
  const { world, run } = await quietWorld({ seed, nodes: 4, pool });
  world.controllers.begin();
  const canary = () => [...world.hosts.values()].find(({ isUp }) => !isUp);
  while (canary() === undefined) await run(50);
  const disturbed = () =>
    [...world.hosts.values()].filter(({ boot }) => boot > 1).map(({ name }) => name);
  return { world, run, name: canary()?.name ?? '', disturbed };
}

jest.setTimeout(120_000);

describe('a canary that is lost while it reboots into a config on which no node becomes Ready', () => {
  it.each([1, 2, 3])('with everything that Temporal knew is the only one (%d)', async (seed) => {
    const { world, run, name, disturbed } = await canaryThatReboots(seed);

    for (const { id } of world.temporal.open()) await world.terminate(id);
    await run(40 * MINUTE_MS);

    expect(disturbed()).toEqual([name]);
    expect(await world.progress('worker')).toMatchObject({ state: 'Halted', failedCount: 1 });
    expect(world.invariants.violations).toEqual([]);
  });

  it('with its rollout is the only one', async () => {
    const { world, run, name, disturbed } = await canaryThatReboots(4);

    await world.terminate(poolRolloutId('worker'));
    await world.terminate(updateNodeId(name));
    await run(40 * MINUTE_MS);

    expect(disturbed()).toEqual([name]);
    expect(world.invariants.violations).toEqual([]);
  });

  it.each([0, 1])(
    'and that a person holds then keeps the others waiting, %d prepared',
    async (n) => {
      const { world, run, name, disturbed } = await canaryThatReboots(3, n);
      while (world.hosts.get(name)?.isUp === false) await run(SECOND_MS);

      await world.terminate(updateNodeId(name));
      world.ask('worker', 'skipNode', { node: name, reason: 'hardware fault' });
      await run(10 * MINUTE_MS);

      expect(disturbed()).toEqual([name]);
      const must = `${name} must be verified on the config first, and is left alone`;
      expect(await world.progress('worker')).toMatchObject({
        state: 'Blocked',
        blocker: `waiting for the canary: ${must}: held (skipped: hardware fault); retry it to let it be updated`,
        held: [{ node: name }],
      });
      expect(world.invariants.violations).toEqual([]);
    },
  );
});
