/**
 * A node fails at once when it is tried again, in a pool with two cluster workers: what one of them still sees of
 * its first failure must not hide the second.
 */

import { shippedSandbox } from './many-seeds';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const MINUTE_MS = 60_000;

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

it.each([3, 6, 8])('gives no grant to anybody else (seed %i)', async (seed) => {
  const policy = {
    ...{ canary: { nodes: 0 }, failureThreshold: 1, prepareAhead: 2 },
    drain: { timeoutSeconds: 0, onTimeout: 'Fail' as const },
  };
  const configs = [1, 2].map(rebootingConfig);
  const pool = { maxUnavailable: 1, configs, policy };
  const { world, run } = await quietWorld({ seed, pool, nodes: 4 });
  world.controllers.begin();
  const hasFailed = async () => world.rollout('worker')?.counts.failed === 1;
  await until(run, hasFailed, 1_000);
  const { failed = [] } = world.rollout('worker') ?? {};
  const [{ node } = { node: '' }] = failed;
  await run(MINUTE_MS);
  const before = world.granted.length;

  const worker = world.workers[1];
  if (worker === undefined) throw new Error('there is no second cluster worker');
  const late = worker.picture;
  world.onlyWorker = worker;
  // It sees the cordon after the report, and what the report says a moment after that.
  late.nodes.delayMs = 1_500;
  world.whenCordoned.push(() => {
    late.nodes.delayMs = 3_500;
  });
  world.ask('worker', 'retryNode', { node });
  await run(2 * MINUTE_MS);

  expect(world.granted.slice(before)).toEqual([node]);
  expect(world.rollout('worker')).toMatchObject({ state: 'Halted', counts: { failed: 1 } });
  expect(world.invariants.violations).toEqual([]);
});
