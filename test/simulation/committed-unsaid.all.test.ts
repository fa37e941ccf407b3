/**
 * The host has committed a config when its update is lost, before its Node says so; and the next update of the
 * node does not come to its end either. The Node names the config that the host is on (I4, I7).
 */

import { updateNodeId } from '../../core/names';
import { shippedSandbox } from './many-seeds';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const MINUTE_MS = 60_000;
const [OLD, NEXT, THIRD, FOURTH] = [1, 2, 3, 4].map((n) => `rendered-worker-${n}`) as [
  ...[string, string, string, string],
];
const STATE = 'machineconfiguration.openshift.io/state';
const CURRENT = 'machineconfiguration.openshift.io/currentConfig';
const CONFIGS = [1, 2, 3, 4].map(rebootingConfig);
const THIRD_DOES_NOT_BOOT = CONFIGS.map((config) =>
  config.name === THIRD ? { ...config, doesNotBoot: true } : config,
);
const SEEDS = [1, 2, 3];

beforeAll(() => shippedSandbox(), 180_000);

async function lostAfterCommit(seed: number, configs = CONFIGS) {
  const { world, run } = await quietWorld({
    ...{ seed, nodes: 2 },
    pool: {
      ...{ maxUnavailable: 1, configs },
      policy: { canary: { nodes: 1 }, drain: { timeoutSeconds: 60 } },
    },
  });
  world.controllers.begin();
  const committed = () => [...world.hosts.values()].find(({ current }) => current === NEXT);
  await until(run, () => committed() !== undefined, 5);
  const name = committed()?.name ?? '';
  for (const { id } of world.temporal.open()) await world.terminate(id);
  const says = () => world.cluster.node(name).metadata.annotations ?? {};
  expect(says()).toMatchObject({ [CURRENT]: OLD, [STATE]: 'Working' });

  return {
    ...{ world, name, run },
    /** The next update has begun, and its host has not answered it yet, or just now. */
    untilNext: async () => {
      await until(run, () => world.temporal.isRunning(updateNodeId(name)), 5);
      await run(500);
    },
    /** After an hour; what the Node and its host are on is the same. */
    rest: async () => {
      await run(60 * MINUTE_MS);
      const { current, files } = world.hosts.get(name) ?? {};
      expect({ node: says()[CURRENT], files }).toEqual({ node: current, files: current });
      expect(world.invariants.violations).toEqual([]);
      return { config: says()[CURRENT], state: says()[STATE] };
    },
  };
}

describe('a host that has committed a config for an update that was lost', () => {
  it.each(SEEDS)(
    'is named, and goes back, when the pool goes back (seed %i)',
    async (seed) => {
      const { world, untilNext, rest } = await lostAfterCommit(seed);
      await untilNext();
      world.render('worker', OLD);
      expect(await rest()).toEqual({ config: OLD, state: 'Done' });
    },
    120_000,
  );

  it.each(SEEDS)(
    'also when the drain of its next update did not end (seed %i)',
    async (seed) => {
      const { world, name, run, rest } = await lostAfterCommit(seed);
      world.bind(name, { name: 'stays', stuck: true });
      world.render('worker', THIRD);
      await run(10 * MINUTE_MS);
      world.render('worker', OLD);
      // It is on the way back then, which the pod keeps from rebooting.
      expect(await rest()).toMatchObject({ config: NEXT });
    },
    120_000,
  );

  it.each(SEEDS)(
    'is named when the pool goes on over another config (seed %i)',
    async (seed) => {
      const { world, untilNext, rest } = await lostAfterCommit(seed);
      world.render('worker', THIRD);
      await untilNext();
      world.render('worker', FOURTH);
      expect(await rest()).toEqual({ config: FOURTH, state: 'Done' });
    },
    120_000,
  );

  it.each(SEEDS)(
    'is named when its next config does not boot (seed %i)',
    async (seed) => {
      const { world, rest } = await lostAfterCommit(seed, THIRD_DOES_NOT_BOOT);
      world.render('worker', THIRD);
      expect(await rest()).toEqual({ config: NEXT, state: 'Degraded' });
    },
    120_000,
  );
});
