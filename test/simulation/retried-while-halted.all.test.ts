/** A person has the nodes tried again that halted their rollout: only these are, until one has proven that it goes. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { shippedSandbox } from './many-seeds';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { PoolScenario } from './scenario';

const MINUTE_MS = 60_000;

beforeAll(() => shippedSandbox(), 180_000);

interface Told {
  /** Nodes with a managed file that somebody has edited: their updates fail. */
  readonly edited?: number;
  readonly bootsAll?: boolean;
}

async function halted(policy: PoolScenario['policy'], { edited = 0, bootsAll = true }: Told = {}) {
  const configs = [1, 2].map((n) => ({ ...rebootingConfig(n), doesNotBoot: n === 2 && !bootsAll }));
  const pool = {
    ...{ maxUnavailable: 4, configs },
    policy: { failureThreshold: 2, reboot: { timeoutSeconds: 120 }, ...policy },
  };
  const { world, run } = await quietWorld({ nodes: 12, pool });
  const tried = new Set<string>();
  world.whenCordoned.push((node) => tried.add(node));
  for (const host of [...world.hosts.values()].slice(0, edited)) host.isEdited = true;
  world.controllers.begin();
  const isAtRest = () =>
    world.rollout('worker')?.state === 'Halted' && world.grants('worker').length === 0;
  await until(run, isAtRest, 1_000);
  const { failed = [] } = world.rollout('worker') ?? {};
  return { world, run, tried, failed: failed.map(({ node }) => node) };
}

describe('a halted rollout of which the failed nodes are tried again', () => {
  it.each([0, 1])(
    'tries nobody else on a config that does not boot (canary %i)',
    async (canary) => {
      const { world, run, tried, failed } = await halted(
        { canary: { nodes: canary } },
        { bootsAll: false },
      );
      const before = [...tried];
      expect(failed.length).toBeGreaterThanOrEqual(2);

      for (const node of failed) world.ask('worker', 'retryNode', { node });
      await run(60 * MINUTE_MS);

      expect([...tried]).toEqual(before);
      expect(world.rollout('worker')).toMatchObject({
        ...{ state: 'Halted', counts: { failed: failed.length } },
      });
      expect(world.invariants.violations).toEqual([]);
    },
    120_000,
  );

  it.each([
    ['granted', 1],
    ['granted', 0],
    ['started', 1],
    ['started', 0],
  ])(
    'tries nobody else either where its rollout is lost while their updates are %s (canary %i)',
    async (stage, canary) => {
      const { world, run, tried, failed } = await halted(
        { canary: { nodes: canary }, prepareAhead: 4 },
        { bootsAll: false },
      );
      const before = [...tried];
      expect(before.length).toBeLessThan(12);

      for (const node of failed) world.ask('worker', 'retryNode', { node });
      const isAt = (node: string) =>
        stage === 'granted'
          ? world.grants('worker').some((grant) => grant.node === node)
          : world.temporal.isRunning(updateNodeId(node));
      await until(run, () => failed.some(isAt), 5);
      await world.terminate(poolRolloutId('worker'));
      await run(60 * MINUTE_MS);

      expect([...tried]).toEqual(before);
      expect(world.rollout('worker')).toMatchObject({
        ...{ state: 'Halted', counts: { failed: failed.length } },
      });
      expect(world.invariants.violations).toEqual([]);
    },
    120_000,
  );

  it('goes on with the others once the one that is tried again is verified', async () => {
    const { world, run, tried, failed } = await halted({ canary: { nodes: 1 } }, { edited: 2 });
    const untouched = [...world.hosts.keys()].filter(
      (node) => !tried.has(node) && !failed.includes(node),
    );
    expect([failed.length, untouched.length > 0]).toEqual([2, true]);
    const [first = ''] = failed;
    const host = world.hosts.get(first);
    if (host === undefined) throw new Error(`there is no host ${first}`);

    host.isEdited = false;
    world.ask('worker', 'retryNode', { node: first });
    await until(run, () => host.current === 'rendered-worker-2', 10);
    expect(untouched.filter((node) => tried.has(node))).toEqual([]);
    await run(60 * MINUTE_MS);

    expect(untouched.filter((node) => !tried.has(node))).toEqual([]);
    expect(world.rollout('worker')).toMatchObject({ counts: { updated: 11, failed: 1 } });
    expect(world.invariants.violations).toEqual([]);
  }, 120_000);
});
