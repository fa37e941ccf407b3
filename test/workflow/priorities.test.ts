import type { WorkflowHandle } from '@temporalio/client';
import { startOrRetarget } from '../../process/temporal/start-rollout';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** Priority of the run and of its activities, by name; undefined = that of the run. */
async function prioritiesIn(handle: WorkflowHandle): Promise<Readonly<Record<string, unknown>>> {
  const { events } = await handle.fetchHistory();
  return Object.fromEntries(
    (events ?? []).flatMap((event) => {
      const run = event.workflowExecutionStartedEventAttributes;
      const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
      const activity = event.activityTaskScheduledEventAttributes;
      const name = run ? 'itself' : (child?.workflowType?.name ?? activity?.activityType?.name);
      const { priority } = run ?? child ?? activity ?? {};
      return name == null ? [] : [[name, priority?.priorityKey]];
    }),
  );
}

it('the rollout goes before its updates, and what puts a node back before what takes one out', async () => {
  const world = await temporal.world({ nodes: 1 });
  world.config = `rendered-${world.pool}-2`;
  await startOrRetarget(temporal.client.workflow, world.pool, world.config);
  await world.rollout().result();

  const rollout = await prioritiesIn(world.rollout());
  const update = await prioritiesIn(world.update(world.name(1)));

  expect(rollout).toMatchObject({ itself: 1, updateNode: 3 });
  expect(update).toMatchObject({ itself: 3, awaitNodeReady: 2, completeNode: 2 });
  expect(update['cordonNode']).not.toBe(2);
});
