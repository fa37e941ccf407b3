import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { messageOf } from '../../core/errors';
import { poolRolloutId } from '../../core/names';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { progressQuery } from '../../workflows/contracts/rollout';
import { bundleInAnotherOrder } from './support/another-order';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal({ code: await bundleInAnotherOrder() });
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

async function endOf(handle: Pick<WorkflowHandle, 'result'>): Promise<string> {
  try {
    await handle.result();
    return 'it ended well';
  } catch (error) {
    return error instanceof WorkflowFailedError ? messageOf(error.cause) : messageOf(error);
  }
}

it('a rollout and an update that cannot go on from their histories end, and are taken up anew', async () => {
  const { client, script } = temporal;
  const waker = new RolloutWaker(client.workflow);
  const rollout = client.workflow.getHandle(poolRolloutId('upgraded'));
  await waker.wake('upgraded', {});
  await script('upgraded').untilSteps(1);
  while ((await rollout.query(progressQuery)) === undefined);
  const world = await temporal.world();
  const node = world.name(1);
  const gate = world.hold('applyUpdate', node);
  await world.startUpdate(node);
  await gate.reached;

  await temporal.upgrade();
  gate.open();
  await waker.wake('upgraded', {});

  expect(await endOf(world.update(node))).toMatch(/nondeterminism/i);
  expect(await endOf(rollout)).toMatch(/nondeterminism/i);
  script('upgraded').answer = () => ({ ended: 'completed' });
  await waker.wake('upgraded', {});
  expect(await rollout.result()).toMatchObject({ ended: 'completed' });
  expect(await world.run(node, { found: 'lost' })).toMatchObject({ outcome: 'updated' });
  expect(world.leftovers()).toEqual([]);
  expect(temporal.violations()).toEqual([]);
});
