/**
 * An update that has told how it ended, and whose host does not answer any more: of a host worker of before, whose updates
 * are decided once they are verified. In quiet weather.
 */

import { ANNOTATION, poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { PoolScenario } from './scenario';
import type { SimulatedConfig } from './world/journal';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function config(number: number): SimulatedConfig {
  return {
    ...{ name: `rendered-worker-${number}`, os: 'os-1', drain: false, restartsService: true },
    ...{ unreconcilable: false, doesNotBoot: false, cutsNetwork: false },
    ...{ neverReady: false, unitFails: false },
  };
}

jest.setTimeout(120_000);

it('holds up no other node when the pool gets another config, and is named at the end', async () => {
  const pool = { maxUnavailable: 1, configs: [1, 2, 3, 4].map(config), policy: {} };
  const { world, trace, run } = await quietWorld({ nodes: 4, pool, hostsOfBefore: 1 });
  const committing = () =>
    /update-node\/(\S+): schedules commitUpdate/.exec(trace.last(20).join('\n'));
  world.controllers.begin();
  while (committing() === null) await run(5);
  const node = committing()?.[1] ?? '';
  world.hosts.get(node)?.killWorker(3 * HOUR_MS);
  await run(5 * MINUTE_MS);

  world.render('worker', 'rendered-worker-3');
  await run(HOUR_MS);

  expect(await world.progress('worker')).toMatchObject({
    ...{ state: 'Rolling', updated: 3, machineCount: 4 },
    blocker: `${node}: waiting for its update to rendered-worker-2 to end: its host is yet to drop what it kept`,
  });

  await run(3 * HOUR_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

function rebootingPool(maxUnavailable: number, policy: PoolScenario['policy']) {
  const verify = { readySeconds: 10, reconnectSeconds: 120 };
  return {
    ...{ maxUnavailable, configs: [1, 2, 3, 4].map(rebootingConfig) },
    policy: { reboot: { timeoutSeconds: 600 }, verify, ...policy },
  };
}

/** One node is done and serves, and its host is to be asked for a day; all others are done. */
async function tidying(canary: number) {
  const pool = rebootingPool(1 + canary, { canary: { nodes: canary } });
  const { world, run } = await quietWorld({ nodes: 4, pool, hostsOfBefore: 1 });
  world.controllers.begin();
  const hosts = [...world.hosts.values()];
  const verified = () => hosts.find(({ journal }) => journal?.verified === true);
  await until(run, () => verified() !== undefined, 5);
  const host = verified();
  if (host === undefined) throw new Error('it was verified a moment ago');
  await run(4_000);
  host.killWorker(30 * HOUR_MS);
  await run(HOUR_MS);
  const others = hosts.filter((one) => one !== host);
  const expectOthersOn = (config: string) => {
    expect(others.map(({ current }) => current)).toEqual(others.map(() => config));
    expect(world.invariants.violations).toEqual([]);
  };
  expectOthersOn('rendered-worker-2');
  return { world, run, others, expectOthersOn, node: host.name };
}

describe.each([0, 1])('it holds up no other node (canary %i)', (canary) => {
  it('when a person has cancelled it in Temporal, which it cannot obey', async () => {
    const { world, run, expectOthersOn, node } = await tidying(canary);
    void world.temporal.cancel(updateNodeId(node));
    await run(MINUTE_MS);

    world.render('worker', 'rendered-worker-3');
    await run(HOUR_MS);

    expectOthersOn('rendered-worker-3');
    expect(await world.progress('worker')).toMatchObject({ slots: [] });
  });

  it('when its rollout is terminated after it has told it to end', async () => {
    const { world, run, expectOthersOn } = await tidying(canary);
    world.render('worker', 'rendered-worker-3');
    await run(30_000);
    await world.terminate(poolRolloutId('worker'));
    await run(HOUR_MS);

    expectOthersOn('rendered-worker-3');
  });

  it('of the next config when its rollout is cancelled, and that ends', async () => {
    const { world, run, others, expectOthersOn } = await tidying(canary);
    world.render('worker', 'rendered-worker-3');
    const isUnderWay = () => {
      return others.some(({ journal }) => journal?.target.name === 'rendered-worker-3');
    };
    await until(run, isUnderWay, 50);
    void world.temporal.cancel(poolRolloutId('worker'));
    await run(HOUR_MS);
    expect(world.temporal.isRunning(poolRolloutId('worker'))).toBe(false);

    world.render('worker', 'rendered-worker-4');
    await run(HOUR_MS);
    expectOthersOn('rendered-worker-4');
  });
});

it('is not waited for when the pool goes back to its config', async () => {
  const { world, run, expectOthersOn } = await tidying(0);
  world.render('worker', 'rendered-worker-3');
  await run(30_000);
  world.render('worker', 'rendered-worker-2');
  await run(HOUR_MS);

  expectOthersOn('rendered-worker-2');
  expect(world.temporal.isRunning(poolRolloutId('worker'))).toBe(false);
});

it('does not halt the rollout that meets it, although its node had failed before', async () => {
  const pool = rebootingPool(1, { canary: { nodes: 0 }, failureThreshold: 1 });
  const { world, run } = await quietWorld({ nodes: 4, pool, hostsOfBefore: 1 });
  for (const host of world.hosts.values()) host.isEdited = true;
  world.controllers.begin();
  const isHalted = async () => (await world.progress('worker'))?.state === 'Halted';
  await until(run, isHalted, 1_000);
  await run(MINUTE_MS);
  const { failed = [] } = (await world.progress('worker')) ?? {};
  const [{ node } = { node: '' }] = failed;
  const host = world.hosts.get(node);
  for (const one of world.hosts.values()) one.isEdited = false;
  world.ask('worker', 'retryNode', { node });
  await until(run, () => host?.journal?.verified === true, 50);
  await run(4_000);
  host?.killWorker(30 * HOUR_MS);
  const isDone = () =>
    world.cluster.node(node).metadata.annotations?.[ANNOTATION.CURRENT_CONFIG] ===
    'rendered-worker-2';
  await until(run, isDone, 50);
  await world.terminate(poolRolloutId('worker'));
  await run(2 * HOUR_MS);

  expect(world.temporal.isRunning(poolRolloutId('worker'))).toBe(false);
  const others = [...world.hosts.values()].filter((one) => one !== host);
  expect(others.map(({ current }) => current)).toEqual(others.map(() => 'rendered-worker-2'));
  expect(world.invariants.violations).toEqual([]);
});
