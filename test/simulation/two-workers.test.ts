/** Two cluster workers, each with its own picture of the cluster, in quiet weather. */

import { quietWorld, until } from './quiet-world';
import type { SimulatedConfig } from './world/journal';

const MINUTE_MS = 60_000;

/** The first one is what every node is on; no other one boots. */
function config(number: number): SimulatedConfig {
  return {
    ...{ name: `rendered-worker-${number}`, os: `os-${number}`, drain: true },
    ...{ restartsService: false, unreconcilable: false, doesNotBoot: number > 1 },
    ...{ cutsNetwork: false, neverReady: false, unitFails: false },
  };
}

jest.setTimeout(120_000);

it.each([14, 19, 24])(
  'give no grant after as many failures were told as there may be (seed %i)',
  async (seed) => {
    const pool = {
      maxUnavailable: 1,
      configs: [1, 2, 3, 4].map(config),
      policy: {
        canary: { nodes: 1 },
        failureThreshold: 2,
        prepareAhead: 2,
        reboot: { timeoutSeconds: 60 },
        verify: { readySeconds: 0, reconnectSeconds: 30 },
      },
    };
    const { world, run } = await quietWorld({ seed, pool, nodes: 6 });
    world.controllers.begin();

    await until(run, () => world.rollout('worker')?.counts.failed === 2, 100);
    const before = world.granted.length;
    await run(20 * MINUTE_MS);

    expect(world.granted.slice(before)).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  },
);
