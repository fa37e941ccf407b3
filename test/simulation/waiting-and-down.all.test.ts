/** A node goes down by itself while it waits, prepared, for its grant. In quiet weather. */

import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { PoolScenario } from './scenario';
import type { World } from './world/world';

const MINUTE_MS = 60_000;
const NEXT = 'rendered-worker-2';

interface Told {
  readonly seed: number;
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly policy: PoolScenario['policy'];
}

async function rolling({ seed, nodes, maxUnavailable, policy }: Told) {
  const pool = {
    ...{ maxUnavailable, configs: [1, 2, 3, 4].map(rebootingConfig) },
    policy: { canary: { nodes: 0 }, failureThreshold: '100%', ...policy },
  };
  const { world, run } = await quietWorld({ seed, nodes, pool });
  world.controllers.begin();
  return { world, run };
}

/** A node whose update is prepared and has no grant. */
async function theWaiting(world: World, run: (ms: number) => Promise<void>): Promise<string> {
  let found = '';
  await until(run, () => {
    [found = ''] = world.waiting();
    return found !== '';
  });
  return found;
}

const notUpdated = (world: World) =>
  [...world.hosts.values()].filter(({ current }) => current !== NEXT).map(({ name }) => name);

jest.setTimeout(120_000);

it.each([
  ['as many as are prepared ahead', { maxUnavailable: 2, policy: { prepareAhead: 1 } }],
  [
    'where nobody is prepared ahead, beside a canary',
    { maxUnavailable: 3, policy: { prepareAhead: 0, canary: { nodes: 1 } } },
  ],
])('keeps no other from being prepared: %s', async (_what, how) => {
  const { world, run } = await rolling({ seed: 1, nodes: 6, ...how });
  const name = await theWaiting(world, run);

  world.cordon(name);
  await run(60 * MINUTE_MS);

  expect(notUpdated(world)).toEqual([name]);
  expect(world.rollout('worker')?.blocker).toContain(name);
  world.uncordon(name);
  await run(30 * MINUTE_MS);
  expect(notUpdated(world)).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

it.each([1, 2])('keeps none from its second drain (seed %d)', async (seed) => {
  const policy = { prepareAhead: 4, drain: { timeoutSeconds: 60 } };
  const { world, run } = await rolling({ seed, nodes: 5, maxUnavailable: 1, policy });
  const cordoned = () => notUpdated(world).find((name) => isCordoned(world, name));
  await until(run, () => cordoned() !== undefined);
  const [drained = ''] = [cordoned()];
  const waiting = await theWaiting(world, run);

  world.bind(drained, { name: 'stays', stuck: true });
  world.hosts.get(waiting)?.breakDown();
  world.limit('worker', 2);
  await run(60 * MINUTE_MS);
  expect(notUpdated(world).sort()).toEqual([drained, waiting].sort());
  for (const pod of world.pods.get(drained) ?? []) pod.stuck = false;
  await run(30 * MINUTE_MS);

  expect(notUpdated(world)).toEqual([waiting]);
  expect(world.invariants.violations).toEqual([]);
});

function isCordoned(world: World, name: string): boolean {
  return world.cluster.nodes.get(name)?.spec?.unschedulable === true;
}
