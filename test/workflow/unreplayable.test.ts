import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { messageOf } from '../../core/errors';
import { bundleInAnotherOrder } from './support/another-order';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

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
  const world = await temporal.world({ nodes: 3 });
  const first = world.nodeNames()[0] ?? '';
  const gate = world.hold('applyUpdate', first);
  const lost = await world.startRollout();
  await gate.reached;
  const update = world.update(first);

  await temporal.upgrade();
  gate.open();

  expect(await endOf(update)).toMatch(/nondeterminism/i);
  expect(await endOf(lost)).toMatch(/nondeterminism/i);
  const next = await world.startRollout();
  await expect(next.result()).resolves.toMatchObject({ updated: 3 });
  expect(world.mostUnavailable).toBe(1);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});
