import { ANNOTATION } from '../../core/names';
import type { FakeWorld } from './support/fake-world';
import { startBench, type TestBench } from './support/temporal';

jest.setTimeout(120_000);

/** What crosses on its way: news that make a decision outdated before it is carried out. */
let bench: TestBench;
beforeAll(async () => {
  bench = await startBench();
}, 180_000);
afterAll(() => bench.stop(), 60_000);

it('a node that comes back before it is repaired waits for a slot of its own', async () => {
  const world = await bench.world({ nodes: 2 });
  const [first, second] = [world.name(1), world.name(2)];
  const draining = world.hold('drainNode', first);
  const cordoning = world.hold('cordonNode', second);
  await world.startRollout();
  await draining.reached;
  await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
  world.changeNode(second, { ready: false });
  await world.tell('a node went down');
  await cordoning.reached;

  world.changeNode(second, { ready: true });
  await world.tell('it is back');
  cordoning.open();
  const { slots } = await world.progressUntil(
    ({ children }) => children.find(({ node }) => node === second)?.stage === 'waiting',
  );

  expect(slots).toEqual([first]);
  expect(world.cordoned()).toEqual([first]);
  draining.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
  expect(world.mostUnavailable).toBe(2);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('a new config that arrives while the last things are written is rolled out, too', async () => {
  const world = await bench.world({ nodes: 1, config: 'c1' });
  world.cancelledConfig = 'c1';
  const writing = world.hold('markRolloutCancelled');
  await world.startRollout();
  await writing.reached;
  await world.progressUntil(({ state }) => state === 'Completed');

  world.config = 'c2';
  const answer = await world.rollout().executeUpdate('retarget', { args: [{ config: 'c2' }] });
  writing.open();

  expect(answer).not.toHaveProperty('reports');
  await expect(world.rollout().result()).resolves.toMatchObject({ config: 'c2', updated: 1 });
  expect(world.cancelledConfig).toBeUndefined();
  expect(world.violations).toEqual([]);
});

it('a verified node is never taken back, and never written by two at once', async () => {
  const world = await bench.world({ nodes: 1 });
  const node = world.name(1);
  world.failWith('commitUpdate', node, 'OrderRefused', 'the disk is gone', 1);
  const completing = world.hold('completeNode', node);
  await world.startRollout();
  await completing.reached;
  await handled(world, node, 'commitUpdate');
  completing.open();

  await world.progressUntil(({ failed }) => failed.length === 1);

  expect(world.stepsOf(node)).not.toContain('goBack');
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c2');
  expect(world.annotation(node, ANNOTATION.REASON)).toContain('the disk is gone');
  expect(world.cordoned()).toEqual([]);
  const order = await activityEvents(world, node);
  expect(order.indexOf('completed completeNode')).toBeGreaterThan(-1);
  expect(order.indexOf('completed completeNode')).toBeLessThan(
    order.indexOf('scheduled releaseNode'),
  );
  await world.rollout().terminate();
});

/** Resolves once the workflow of the node has seen the failure of this step. */
async function handled(world: FakeWorld, node: string, step: string): Promise<void> {
  for (;;) {
    const events = await activityEvents(world, node);
    const failedAt = events.indexOf(`failed ${step}`);
    if (failedAt >= 0 && events.indexOf('task', failedAt) >= 0) return;
  }
}

/** What happened to the activities of an update, and when its workflow went on, in order. */
async function activityEvents(world: FakeWorld, node: string): Promise<readonly string[]> {
  const { events } = await world.update(node).fetchHistory();
  const names = new Map<string, string>();
  return (events ?? []).flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes;
    if (scheduled) {
      names.set(String(event.eventId), scheduled.activityType?.name ?? '');
      return [`scheduled ${scheduled.activityType?.name}`];
    }
    if (completed) return [`completed ${names.get(String(completed.scheduledEventId))}`];
    if (failed) return [`failed ${names.get(String(failed.scheduledEventId))}`];
    return event.workflowTaskCompletedEventAttributes ? ['task'] : [];
  });
}
