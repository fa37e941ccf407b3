import { startOrRetarget } from '../../process/temporal/start-rollout';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

/** The server suggests a new run after this many events, so every rollout here has several. */
const EVENTS = 40;

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal({
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': EVENTS },
  });
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

describe('a rollout that goes on in new runs', () => {
  it('loses no slot and no report', async () => {
    const world = await temporal.world({ nodes: 8, maxUnavailable: 2 });
    const handle = await world.startRollout();
    const first = (await handle.describe()).runId;

    const result = await handle.result();

    expect(result.reports.map(({ node }) => node).sort()).toEqual([...world.nodeNames()].sort());
    expect(result).toMatchObject({ state: 'Completed', updated: 8 });
    expect((await world.rollout().describe()).runId).not.toBe(first);
    expect(world.mostUnavailable).toBe(2);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
    for (const node of world.nodeNames()) {
      expect(world.stepsOf(node).filter((step) => step === 'prepareUpdate')).toHaveLength(1);
    }
  });

  it('remembers failed nodes, held nodes, and nodes to be tried last', async () => {
    const world = await temporal.world({ nodes: 6, maxUnavailable: 1 });
    const [failing, held, deferred] = [world.name(1), world.name(6), world.name(2)];
    world.failWith('applyUpdate', failing, 'ApplyFailed', 'disk full', 1);
    world.failWith('drainNode', deferred, 'DrainTimedOut', 'budget allows 0', 1);
    const gate = world.hold('drainNode', world.name(3));
    const handle = await world.startRollout();
    const first = (await handle.describe()).runId;
    await gate.reached;
    await world.rollout().executeUpdate('skipNode', { args: [{ node: held }] });
    gate.open();

    const progress = await world.progressUntil(
      ({ updated, children }) => updated === 4 && children.length === 0,
    );

    expect((await world.rollout().describe()).runId).not.toBe(first);
    expect(progress.failed.map(({ node }) => node)).toEqual([failing]);
    expect(progress.held.map(({ node }) => node)).toEqual([held]);
    expect(progress.reports.at(-1)?.node).toBe(deferred);
    await world.rollout().executeUpdate('retryNode', { args: [{ node: failing }] });
    await world.rollout().executeUpdate('retryNode', { args: [{ node: held }] });
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 6 });
    expect(world.violations).toEqual([]);
  });

  it('has time for the replay of a long history in each of them', async () => {
    const world = await temporal.world({ nodes: 6 });
    world.config = `rendered-${world.pool}-2`;
    const gate = world.hold('drainNode', world.name(4));
    await startOrRetarget(temporal.client.workflow, world.pool, world.config);
    await gate.reached;

    const { runId, raw } = await world.rollout().describe();
    const { events } = await world.rollout().fetchHistory();
    const begun = events?.[0]?.workflowExecutionStartedEventAttributes;

    expect(begun?.firstExecutionRunId).not.toBe(runId);
    expect(Number(raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds)).toBe(30);
    gate.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 6 });
  });

  it('can still be cancelled as a whole', async () => {
    const world = await temporal.world({ nodes: 6, maxUnavailable: 1 });
    const gate = world.hold('drainNode', world.name(4));
    const handle = await world.startRollout();
    const first = (await handle.describe()).runId;
    await gate.reached;
    expect((await world.rollout().describe()).runId).not.toBe(first);

    await world.rollout().cancel();

    await expect(world.rollout().result()).rejects.toMatchObject({
      cause: { name: 'CancelledFailure' },
    });
    expect(world.leftovers()).toEqual([]);
    expect(world.cancelledConfig).toBe('c2');
    gate.open();
  });
});
