import { WorkflowFailedError } from '@temporalio/client';
import { readFile } from 'node:fs/promises';
import { statusQuery } from '../../workflows/messages';
import { workflowBundle } from './support/bundle';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

/** Interval at which an update repeats that it is prepared: ten minutes in the product. */
const REMINDER = /"600s"(?=,\{summary:)/g;

let temporal: TestTemporal;
beforeAll(async () => {
  const shipped = await readFile(await workflowBundle(), 'utf8');
  expect(shipped.match(REMINDER)).toHaveLength(1);
  temporal = await startTestTemporal({ code: shipped.replace(REMINDER, '"2s"') });
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

it('an update that waits for its slot ends by itself when no rollout comes any more', async () => {
  const world = await temporal.world({ nodes: 2 });
  const [first, second] = [world.name(1), world.name(2)];
  // It takes the only slot.
  world.changeNode(first, { unschedulable: true });
  const before = world.node(second);
  await world.startRollout();
  await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));

  await world.rollout().terminate();
  world.config = 'c1';
  const ended = await world
    .update(second)
    .result()
    .catch((thrown: unknown) => thrown);

  expect(ended).toBeInstanceOf(WorkflowFailedError);
  expect((ended as WorkflowFailedError).cause).toMatchObject({
    type: 'RolloutGone',
    message: `${second}: nobody could give the slot: ${world.rolloutId} does not run`,
  });
  expect(world.node(second)).toBe(before);
  expect(world.stepsOf(second)).toEqual(['prepareUpdate', 'discardStaged']);
  expect(world.leftovers()).toEqual([]);
  await expect((await world.startRollout()).result()).resolves.toMatchObject({ updated: 2 });
});

it('an update whose rollout runs tells it so again, and waits on', async () => {
  const world = await temporal.world({ nodes: 2 });
  const [first, second] = [world.name(1), world.name(2)];
  world.changeNode(first, { unschedulable: true });
  await world.startRollout();
  await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
  const since = async () => {
    const { children } = await world.progress();
    return children.find(({ node }) => node === second)?.since;
  };

  for (let reminders = 0, said = await since(); reminders < 3; reminders += 1) {
    await world.progressUntil(({ children }) => children[0]?.since !== said);
    said = await since();
  }

  await expect(world.update(second).query(statusQuery)).resolves.toMatchObject({
    ...{ phase: 'WaitingForSlot', blocker: `a slot from ${world.rolloutId}` },
  });
  world.changeNode(first, { unschedulable: false });
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
  expect(world.violations).toEqual([]);
});
