/** A node that tries a config for the others, whose update and rollout are lost while it does, in quiet weather. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';
import type { SimulatedConfig } from './world/journal';

const MINUTE_MS = 60_000;

/** On the second one no node becomes Ready. */
function configOf(number: number): SimulatedConfig {
  return { ...rebootingConfig(number), neverReady: number === 2 };
}

async function canaryThatReboots(seed: number) {
  const pool = {
    maxUnavailable: 2,
    configs: [1, 2, 3, 4].map(configOf),
    policy: {
      canary: { nodes: 1 },
      failureThreshold: 1,
      prepareAhead: 1,
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
    expect(world.rollout('worker')).toMatchObject({ state: 'Halted', counts: { failed: 1 } });
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
});
