/** A rollout that is terminated, or that hears of a decision while the API server is away, in quiet weather. */

import { ANNOTATION, poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld } from './quiet-world';
import type { SimulatedConfig } from './world/journal';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

function drainedConfig(number: number, os = 'os-1'): SimulatedConfig {
  return {
    ...{ name: `rendered-worker-${number}`, os, drain: true, restartsService: false },
    ...{ unreconcilable: false, doesNotBoot: false, cutsNetwork: false },
    ...{ neverReady: false, unitFails: false },
  };
}

function poolOf(maxUnavailable: number, canary: number, boots = false) {
  return {
    maxUnavailable,
    configs: [1, 2, 3, 4].map((number) => drainedConfig(number, boots ? `os-${number}` : 'os-1')),
    policy: {
      canary: { nodes: canary },
      failureThreshold: '100%',
      prepareAhead: 2,
      verify: { readySeconds: 0, reconnectSeconds: 300 },
    },
  };
}

jest.setTimeout(120_000);

describe('a rollout that is terminated a moment after it gave a slot, and started anew', () => {
  it.each([
    { seed: 5, wait: 250, canary: 1, maxUnavailable: 2, away: false },
    { seed: 25, wait: 1_250, canary: 1, maxUnavailable: 2, away: false },
    { seed: 6, wait: 300, canary: 1, maxUnavailable: 2, away: true },
    { seed: 142, wait: 1_100, canary: 0, maxUnavailable: 1, away: true },
    { seed: 255, wait: 750, canary: 0, maxUnavailable: 1, away: true },
  ])('gives none that the update of that one has: %j', async (story) => {
    const { seed, wait, canary, maxUnavailable, away } = story;
    const { world, run } = await quietWorld({ seed, pool: poolOf(maxUnavailable, canary) });
    let isLost = false;
    world.atNextSlot = () => {
      world.cluster.isAway = away;
      world.clock.after(wait + 6 * SECOND_MS, () => {
        world.cluster.isAway = false;
      });
      world.clock.after(wait, async () => {
        isLost = true;
        await world.terminate(poolRolloutId('worker'));
      });
    };
    world.controllers.begin();
    while (!isLost) await run(50);

    await run(10 * MINUTE_MS);

    expect(world.invariants.violations).toEqual([]);
    expect(world.temporal.open()).toEqual([]);
  });
});

describe('a pool that goes back to the config before while a new rollout takes over its updates', () => {
  it.each([82, 206])('has no canary too many (seed %d)', async (seed) => {
    const { world, run, trace } = await quietWorld({ seed, pool: poolOf(2, 1) });
    world.controllers.begin();
    const changing = () => [...world.hosts.values()].find(({ journal }) => journal !== undefined);
    while (changing() === undefined) await run(50);
    changing()?.killWorker(MINUTE_MS);
    await world.terminate(poolRolloutId('worker'));
    world.render('worker', 'rendered-worker-3');
    const asks = 'pool-rollout/worker: findRunningUpdates attempt';
    while (!trace.last(30).some((line) => line.includes(asks))) await run(10);

    world.render('worker', 'rendered-worker-2');
    await run(10 * MINUTE_MS);

    expect(world.invariants.violations).toEqual([]);
  });
});

describe('a person who cancels an update in Temporal while the API server is away', () => {
  it('is heeded by the next rollout, too', async () => {
    const { world, run } = await quietWorld({ seed: 3, pool: poolOf(1, 0, true) });
    world.controllers.begin();
    const prepared = () => [...world.hosts.values()].find(({ staged }) => staged !== undefined);
    while (prepared() === undefined) await run(50);
    const node = prepared()?.name ?? '';
    world.cluster.isAway = true;
    world.clock.after(150 * SECOND_MS, () => {
      world.cluster.isAway = false;
    });

    expect(world.temporal.cancel(updateNodeId(node))).toBe(true);
    await run(20 * MINUTE_MS);
    await world.terminate(poolRolloutId('worker'));
    await run(15 * MINUTE_MS);

    const { annotations = {} } = world.cluster.node(node).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBe('rendered-worker-2');
    expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-1');
    expect(world.invariants.violations).toEqual([]);
  });
});

describe('a person who skips a node whose rollout is terminated before it has stopped the update', () => {
  it.each([1, 2])('is heeded by the next rollout, too (seed %d)', async (seed) => {
    const { world, run, trace } = await quietWorld({ seed, nodes: 3, pool: poolOf(1, 0, true) });
    world.controllers.begin();
    const nextInLine = async (): Promise<string | undefined> => {
      const children = (await world.progress('worker'))?.children ?? [];
      return children.find(({ stage, holdsSlot }) => stage === 'waiting' && !holdsSlot)?.node;
    };
    while ((await nextInLine()) === undefined) await run(20);
    const node = (await nextInLine()) ?? '';
    world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
    const told = `stopping to ${updateNodeId(node)}`;
    while (!trace.last(5).some((line) => line.includes(told))) await run(1);

    await world.terminate(poolRolloutId('worker'));
    await run(20 * MINUTE_MS);

    const { annotations = {} } = world.cluster.node(node).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBe('rendered-worker-2');
    expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-1');
    expect(world.hosts.get(node)).toMatchObject({ boot: 1, staged: undefined });
    expect(await world.progress('worker')).toMatchObject({
      ...{ state: 'Blocked', updated: 2, failed: [] },
      held: [{ node, reason: expect.stringContaining('hardware fault') as string }],
    });

    world.ask('worker', 'retryNode', { node });
    await run(20 * MINUTE_MS);

    expect(world.invariants.violations).toEqual([]);
    expect(world.temporal.open()).toEqual([]);
    expect(world.cluster.node(node).metadata.annotations).toMatchObject({
      [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-2',
    });
  });

  it('is heeded also where the node is being drained', async () => {
    const { world, run, trace } = await quietWorld({ nodes: 3, pool: poolOf(1, 0, true) });
    for (const pods of world.pods.values()) {
      pods.push({ name: 'busy', stuck: true, boundAt: world.clock.now });
    }
    world.controllers.begin();
    const drained = () => /update-node\/(\S+): schedules drainNode/.exec(trace.last(20).join('\n'));
    while (drained() === null) await run(20);
    const node = drained()?.[1] ?? '';
    world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
    const told = `stopping to ${updateNodeId(node)}`;
    while (!trace.last(5).some((line) => line.includes(told))) await run(1);

    await world.terminate(poolRolloutId('worker'));
    await run(MINUTE_MS);
    for (const pods of world.pods.values()) for (const pod of pods) pod.stuck = false;
    await run(20 * MINUTE_MS);

    const { spec, metadata } = world.cluster.node(node);
    expect(spec?.unschedulable ?? false).toBe(false);
    expect(metadata.annotations).toMatchObject({
      [ANNOTATION.HELD_FOR]: 'rendered-worker-2',
      [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-1',
    });
    expect(world.hosts.get(node)).toMatchObject({ boot: 1, staged: undefined });
    expect(await world.progress('worker')).toMatchObject({ updated: 2, failed: [] });
    expect(world.invariants.violations).toEqual([]);
  });
});

describe('a node that is skipped while a new rollout meets the update that runs on it', () => {
  it.each([1, 2, 3, 5])('is taken back, as was said (seed %d)', async (seed) => {
    const { world, run } = await quietWorld({ seed, pool: poolOf(1, 0) });
    world.controllers.begin();
    const changing = () => [...world.hosts.values()].find(({ journal }) => journal !== undefined);
    while (changing() === undefined) await run(50);
    const node = changing()?.name ?? '';
    changing()?.killWorker(MINUTE_MS);
    await world.terminate(poolRolloutId('worker'));
    const isStarting = async () =>
      (await world.progress('worker'))?.children.some(
        (child) =>
          child.node === node && child.blocker?.startsWith('waiting for Temporal') === true,
      ) === true;
    while (!(await isStarting())) await run(10);

    world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
    await run(20 * MINUTE_MS);

    const { annotations = {} } = world.cluster.node(node).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBe('rendered-worker-2');
    expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-1');
    expect(world.cluster.node(node).spec?.unschedulable ?? false).toBe(false);
    expect(world.invariants.violations).toEqual([]);
  });
});
