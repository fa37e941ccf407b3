import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

/** The worker caches one workflow: all others replay from their history, as after a crash. */
let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal({ forgetful: true });
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

describe('with a worker that forgets a workflow as soon as another one has its turn', () => {
  it('a rollout with a failure, a retarget and messages ends as it should', async () => {
    const world = await temporal.world({ nodes: 3 });
    const [first, second, third] = world.nodeNames() as [string, string, string];
    world.failWith('applyUpdate', first, 'ApplyFailed', 'disk full', 1);
    const gate = world.hold('drainNode', second);
    await world.startRollout();
    await gate.reached;
    await world.rollout().executeUpdate('skipNode', { args: [{ node: third }] });
    await world.rollout().executeUpdate('pause', { args: [{ reason: 'freeze' }] });

    const config = `rendered-${world.pool}-3`;
    world.config = config;
    await world.rollout().executeUpdate('retarget', { args: [{ config }] });
    await world.until(() => world.stepsOf(second).includes('releaseNode'));
    gate.open();
    await world.rollout().executeUpdate('resume', { args: [{}] });

    await expect(world.rollout().result()).resolves.toMatchObject({ config, updated: 3 });
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
    const { events } = await world.rollout().fetchHistory();
    const problems = events?.filter(({ workflowTaskFailedEventAttributes: failed }) => failed);
    expect(problems).toEqual([]);
  });
});
