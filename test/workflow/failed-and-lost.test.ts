/** An update is lost during rollback, before its Node shows the result. */

import { ANNOTATION } from '../../core/names';
import { retryNodeUpdate } from '../../workflows/messages';
import { containing } from './support/containing';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** The first node has failed and its host is rolled back; its Node does not show it yet. */
async function failedUnsaid() {
  const world = await temporal.world({ nodes: 2, policy: { failureThreshold: 1 } });
  const node = world.name(1);
  world.failWith('verifyUpdate', node, 'VerifyFailed', 'unit a.service has failed', 1);
  const isBack = world.hold('awaitNodeReady', node);
  await world.startRollout();
  await isBack.reached;
  expect(world.annotation(node, ANNOTATION.STATE)).toBe('Working');
  return { world, node, isBack };
}

it('counts as failed with its reason in the next rollout, and is tried again when told', async () => {
  const { world, node, isBack } = await failedUnsaid();
  await Promise.all([world.rollout().terminate('lost'), world.update(node).terminate('lost')]);
  isBack.open();
  await world.startRollout();

  const { failed } = await world.progressUntil(({ state }) => state === 'Halted');

  const reason = 'lost: VerifyFailed: unit a.service has failed';
  // A check that comes before the report takes the sentence of the Node, which also names the failure.
  expect(failed).toMatchObject([{ node, reason: containing(reason) }]);
  expect(world.annotation(node, ANNOTATION.REASON)).toBe(`EarlierUpdateFailed: ${reason}`);
  expect(world.annotation(node, ANNOTATION.STATE)).toBe('Degraded');
  expect(world.cordoned()).toEqual([]);
  const reboots = () => world.stepsOf(node).filter((step) => step === 'armReboot');
  expect(reboots()).toHaveLength(1);
  expect(world.stepsOf(world.name(2))).not.toContain('applyUpdate');

  await world.rollout().executeUpdate(retryNodeUpdate, { args: [{ node }] });
  await world.rollout().result();
  expect(world.updatedNodes()).toEqual(world.nodeNames());
  expect(reboots()).toHaveLength(2);
  expect(world.violations).toEqual([]);
});

it('so it is when the update alone is lost', async () => {
  const { world, node, isBack } = await failedUnsaid();
  await world.update(node).terminate('lost');
  isBack.open();

  const { failed } = await world.progressUntil(({ state }) => state === 'Halted');

  expect(failed).toMatchObject([
    { node, reason: expect.stringContaining('VerifyFailed: unit a.service has failed') as string },
  ]);
  expect(world.violations).toEqual([]);
});

describe('a host that is rolled back', () => {
  it('is told how its update failed', async () => {
    const { world, node, isBack } = await failedUnsaid();

    expect(world.host(node).failed).toBe('VerifyFailed: unit a.service has failed');
    isBack.open();
    await world.progressUntil(({ state }) => state === 'Halted');
  });

  it('is told of no failure when the pool wants another config', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    const applying = world.hold('applyUpdate', node);
    const proving = world.hold('verifyBack', node);
    await world.startRollout();
    await applying.reached;
    world.config = 'c3';
    await world.tell('another config');
    await proving.reached;

    expect(world.host(node).failed).toBeUndefined();
    applying.open();
    proving.open();
    await world.rollout().result();
    expect(world.updatedNodes()).toEqual([node]);
    expect(world.violations).toEqual([]);
  });

  it('is told of none when an earlier update was lost', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.host(node).isLeft = true;
    const proving = world.hold('verifyBack', node);
    await world.startRollout();
    await proving.reached;

    expect(world.host(node).failed).toBeUndefined();
    proving.open();
    await world.rollout().result();
    expect(world.updatedNodes()).toEqual([node]);
    expect(world.violations).toEqual([]);
  });
});
