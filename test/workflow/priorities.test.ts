import type { WorkflowHandle } from '@temporalio/client';
import { poolRolloutId } from '../../core/names';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { startByPerson } from '../../process/temporal/start-rollout';
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
      const activity = event.activityTaskScheduledEventAttributes;
      const name = run ? 'itself' : activity?.activityType?.name;
      const { priority } = run ?? activity ?? {};
      return name == null ? [] : [[name, priority?.priorityKey]];
    }),
  );
}

it.each([
  ['a person starts', () => startByPerson(temporal.client.workflow, 'first', {})],
  ['news start', () => new RolloutWaker(temporal.client.workflow).wake('first', {})],
])('a rollout that %s goes first', async (_who, start) => {
  temporal.script('first').answer = () => ({ ended: 'completed' });
  await start();
  const handle = temporal.client.workflow.getHandle(poolRolloutId('first'));
  await handle.result();

  expect(await prioritiesIn(handle)).toMatchObject({ itself: 1, step: 1 });
});

it('what puts a node back goes before what takes one out', async () => {
  const world = await temporal.world();
  const node = world.name(1);
  await world.run(node);

  const update = await prioritiesIn(world.update(node));

  expect(update).toMatchObject({ itself: 3, awaitReturn: 2, completeNode: 2 });
  expect(update['takeOutOfService']).not.toBe(2);
});
