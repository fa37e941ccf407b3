/** Requests about a node to a rollout that does not know the target of its pool yet. */

import type { WorkflowHandle } from '@temporalio/client';
import { ANNOTATION } from '../../core/names';
import { attachSignal } from '../../workflows/messages';
import { containing } from './support/containing';
import type { FakeWorld, WorldOptions } from './support/fake-world';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

const NOT_SYNCED = 'the watches of the cluster have not caught up yet';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** Resolves when the rollout has accepted it; the answer comes later. */
async function said(world: FakeWorld, message: string, node: string) {
  const handle: WorkflowHandle = world.rollout();
  const update = await handle.startUpdate<unknown, [unknown]>(message, {
    args: [{ node, reason: 'hardware fault' }],
    waitForStage: 'ACCEPTED',
  });
  return { answer: update.result() };
}

async function say(world: FakeWorld, message: string, node: string): Promise<unknown> {
  return (await said(world, message, node)).answer;
}

/** The first check of the pool has failed, and the next one is due in a minute. */
async function startBlind(world: FakeWorld): Promise<void> {
  world.failWith('selectNodes', '', 'ApiRefused', NOT_SYNCED, 1);
  await world.startRollout();
  const { config } = await world.progressUntil(({ blocker = '' }) => blocker.includes(NOT_SYNCED));
  expect(config).toBe('');
}

/** The first check of the pool waits at the gate. */
async function lookingRollout(options: WorldOptions) {
  const world = await temporal.world(options);
  const gate = world.hold('selectNodes');
  await world.startRollout();
  await gate.reached;
  return { world, node: world.name(1), gate };
}

it('a node that is skipped is held for the config that the pool turns out to have', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  await startBlind(world);

  await say(world, 'skipNode', node);

  const { held } = await world.progressUntil(({ state }) => state === 'Blocked');
  expect(held).toEqual([{ node, reason: 'skipped: hardware fault' }]);
  expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe('c2');
  expect(world.stepsOf(node)).toEqual(['holdNode']);
  await say(world, 'retryNode', node);
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
  expect(world.violations).toEqual([]);
});

it('a node that is skipped, and then to be tried after all, is tried', async () => {
  const { world, node, gate } = await lookingRollout({ nodes: 1 });
  const skipped = await said(world, 'skipNode', node);
  const retried = await said(world, 'retryNode', node);
  gate.open();

  await skipped.answer;
  await retried.answer;

  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
  expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBeUndefined();
  expect(world.stepsOf(node).filter((step) => step === 'holdNode')).toHaveLength(2);
  expect(world.violations).toEqual([]);
});

/** The update of a lost rollout drains its node. */
async function lostUpdate() {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const draining = world.hold('drainNode', node);
  await world.startRollout();
  await draining.reached;
  await world.rollout().terminate('lost');
  return { world, node, draining };
}

async function expectHeld(world: FakeWorld, node: string, reason: string): Promise<void> {
  const { held } = await world.progressUntil(({ state }) => state === 'Blocked');
  expect(held).toEqual([{ node, reason }]);
  await world.until(() => world.annotation(node, ANNOTATION.HELD_FOR) === 'c2');
  expect(world.updatedNodes()).toEqual([]);
  expect(world.leftovers()).toEqual([]);
  expect(world.violations).toEqual([]);
  await world.rollout().terminate();
}

it('a node whose update of an earlier rollout is cancelled is held as well', async () => {
  const { world, node, draining } = await lostUpdate();
  const looking = world.hold('selectNodes');
  await world.startRollout();
  await looking.reached;
  // An update repeats this signal while it waits for its slot.
  await world.update(node).signal(attachSignal, { reportTo: world.rolloutId });
  await world.progressUntil(({ children }) => children.length === 1);

  const cancelled = await said(world, 'cancelNode', node);
  looking.open();
  await cancelled.answer;
  draining.open();

  await expectHeld(world, node, 'cancelled: hardware fault');
});

it('a node whose update somebody cancels in Temporal is held as well', async () => {
  const { world, node, draining } = await lostUpdate();
  await startBlind(world);

  await world.update(node).cancel();
  await expect(world.update(node).result()).rejects.toThrow();
  draining.open();

  await expectHeld(world, node, 'its update was cancelled in Temporal');
});

it.each(['skipNode', 'retryNode'])(
  '%s is refused where there is no config yet',
  async (message) => {
    const { world, node, gate } = await lookingRollout({ nodes: 1, config: undefined });
    const early = await said(world, message, node);
    const refused = {
      cause: { type: 'RefusedRequest', message: containing('has no rendered config') },
    };
    const refusal = expect(early.answer).rejects.toMatchObject(refused);
    gate.open();

    await refusal;
    await world.progressUntil(({ state }) => state === 'WaitingForRender');
    await expect(say(world, message, node)).rejects.toMatchObject(refused);
    expect(world.stepsOf(node)).toEqual([]);
    await world.rollout().terminate();
  },
);
