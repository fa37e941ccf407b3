/**
 * A node fails at once when it is tried again, in a pool with two cluster workers: what one of them still sees of
 * its first failure must not hide the second.
 */

import { shippedSandbox } from './many-seeds';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const MINUTE_MS = 60_000;

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

it.each([3, 6, 8])('gives no slot to anybody else (seed %i)', async (seed) => {
  const policy = {
    ...{ canary: { nodes: 0 }, failureThreshold: 1, prepareAhead: 2 },
    drain: { timeoutSeconds: 0, onTimeout: 'Fail' as const },
  };
  const configs = [1, 2].map(rebootingConfig);
  const pool = { maxUnavailable: 1, configs, policy };
  const { world, trace, run } = await quietWorld({ seed, pool, nodes: 4, twoWorkers: true });
  world.controllers.begin();
  const hasFailed = async () => (await world.progress('worker'))?.failedCount === 1;
  await until(run, hasFailed, 1_000);
  const { failed = [] } = (await world.progress('worker')) ?? {};
  const [{ node } = { node: '' }] = failed;
  await run(MINUTE_MS);
  const slots = () => trace.last(100_000).filter((line) => line.includes('proceed to '));
  const before = slots().length;

  const late = world.cluster.pictures[1];
  if (late === undefined) throw new Error('there is no second cluster worker');
  world.onlyWorker = late;
  // It sees the cordon after the report, and what the report says a moment after that.
  late.nodes.delayMs = 1_500;
  world.whenCordoned.push(() => {
    late.nodes.delayMs = 3_500;
  });
  world.ask('worker', 'retryNode', { node });
  await run(2 * MINUTE_MS);

  const after = slots().slice(before);
  expect(after.map((line) => line.includes(`update-node/${node}`))).toEqual([true]);
  expect(await world.progress('worker')).toMatchObject({ state: 'Halted', failedCount: 1 });
  expect(world.invariants.violations).toEqual([]);
});
