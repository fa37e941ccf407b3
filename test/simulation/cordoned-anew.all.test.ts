import { shippedSandbox } from './many-seeds';
import { quietWorld } from './quiet-world';

beforeAll(() => shippedSandbox(), 180_000);

const config = (n: number) => ({
  ...{ name: `rendered-worker-${n}`, os: `os-${n}`, drain: true, restartsService: false },
  ...{
    unreconcilable: false,
    doesNotBoot: false,
    cutsNetwork: false,
    neverReady: false,
    unitFails: false,
  },
});

/** A person has uncordoned a node while its machine was down, and cordons it before anybody has reacted. */
it.each([100, 500, 1_000])('leaves a cordon that came %d ms after an uncordon', async (gapMs) => {
  for (const seed of [1, 2, 3]) {
    const pool = { maxUnavailable: 1, configs: [1, 2, 3, 4].map(config) };
    const { world, run } = await quietWorld({ seed, pool });
    world.controllers.begin();
    let down: string | undefined;
    for (let looks = 0; looks < 4_000 && down === undefined; looks += 1) {
      await run(50);
      down = [...world.hosts].find(([, host]) => !host.isUp)?.[0];
    }
    if (down === undefined) throw new Error('no machine reboots');

    world.uncordon(down);
    await run(gapMs);
    world.cordon(down);
    await run(20 * 60_000);

    expect(world.invariants.violations).toEqual([]);
    expect(world.cluster.node(down).spec?.unschedulable).toBe(true);
  }
});
