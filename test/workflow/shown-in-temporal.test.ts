/** The view in Temporal: the table of a pool, and how everything ended. */

import { updateNodeId } from '../../core/names';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import type { FakeWorld } from './support/fake-world';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** The details on the page of the rollout, as the UI asks for them, without times. */
async function detailsOf(world: FakeWorld): Promise<readonly string[]> {
  const { currentDetails } = await world
    .rollout()
    .query<{ readonly currentDetails: string }>('__temporal_workflow_metadata');
  const withoutTimes = currentDetails.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
  // No-break spaces, which the UI does not trim, stand between the cells.
  return withoutTimes.replaceAll('\u00A0', '').split('\n');
}

/** Waits for the text: the details follow the next check of the pool. */
async function detailsWith(world: FakeWorld, text: string): Promise<readonly string[]> {
  for (;;) {
    const details = await detailsOf(world);
    if (details.some((line) => line.includes(text))) return details;
  }
}

/** Workflow IDs of a pool with this outcome; none of them has another. */
async function foundBy(world: FakeWorld, outcome: string): Promise<readonly string[]> {
  const query = `SlipwayPool = '${world.pool}' AND SlipwayOutcome = '${outcome}'`;
  const found: string[] = [];
  for await (const { workflowId, typedSearchAttributes } of temporal.client.workflow.list({
    query,
  })) {
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.outcome)).toBe(outcome);
    found.push(workflowId);
  }
  return found.sort();
}

/** Visibility is eventually consistent; the final state counts. */
async function outcomesOf(
  world: FakeWorld,
  count: number,
): Promise<Readonly<Record<string, readonly string[]>>> {
  for (;;) {
    const { count: shown } = await temporal.client.workflow.count(
      `SlipwayPool = '${world.pool}' AND SlipwayOutcome IS NOT NULL AND ExecutionStatus != 'Running'`,
    );
    if (shown >= count) break;
  }
  const outcomes = ['updated', 'completed', 'failed', 'cancelled', 'skipped'];
  const found = await Promise.all(outcomes.map((outcome) => foundBy(world, outcome)));
  return Object.fromEntries(
    outcomes.map((outcome, i) => [outcome, found[i] ?? []]).filter(([, ids]) => ids?.length !== 0),
  ) as Readonly<Record<string, readonly string[]>>;
}

describe('the page of a rollout in the Temporal UI', () => {
  it('has a table of the pool, which follows the rollout', async () => {
    const world = await temporal.world({ nodes: 3, policy: { prepareAhead: 1 } });
    const [first, second, third] = [world.name(1), world.name(2), world.name(3)];
    world.failWith('applyUpdate', first, 'ApplyFailed', 'disk | full', 1);
    const gate = world.hold('drainNode', second);
    await world.startRollout();
    await gate.reached;

    expect(await detailsWith(world, 'prepared, waiting')).toEqual([
      `**${world.pool}** → \`c2\` — **Rolling**`,
      '',
      '| updated | slots in use | failed | held | blocked |',
      '| :--- | :--- | :--- | :--- | :--- |',
      '| 0 of 3 | 1 of 1 | 1 | 0 | 0 |',
      '',
      '| node | is | since |',
      '| :--- | :--- | :--- |',
      `| ${second} | updating | TIME |`,
      `| ${third} | prepared, waiting for a slot | TIME |`,
      '',
      '| failed | reason |',
      '| :--- | :--- |',
      `| ${first} | ApplyFailed: disk \\| full |`,
    ]);

    gate.open();
    await world.progressUntil(({ updated, children }) => updated === 2 && children.length === 0);
    await world.rollout().executeUpdate('retryNode', { args: [{ node: first }] });
    await world.rollout().result();

    expect(await detailsOf(world)).toEqual([
      `**${world.pool}** → \`c2\` — **Completed**`,
      '',
      '| updated | slots in use | failed | held | blocked |',
      '| :--- | :--- | :--- | :--- | :--- |',
      '| 3 of 3 | 0 of 1 | 0 | 0 | 0 |',
    ]);
    expect(world.violations).toEqual([]);
  });
});

describe('the search attribute for the outcome finds', () => {
  it('updates that brought their node to the config, failed, or were skipped on the way', async () => {
    const world = await temporal.world({ nodes: 3 });
    const [failing, skipped, good] = [world.name(1), world.name(2), world.name(3)];
    world.failWith('applyUpdate', failing, 'ApplyFailed', 'disk full');
    const gate = world.hold('drainNode', skipped);
    await world.startRollout();
    await gate.reached;

    await world.rollout().executeUpdate('skipNode', { args: [{ node: skipped }] });
    await world.progressUntil(({ updated, children }) => updated === 1 && children.length === 0);

    expect(await outcomesOf(world, 3)).toEqual({
      updated: [updateNodeId(good)],
      failed: [updateNodeId(failing)],
      cancelled: [updateNodeId(skipped)],
    });
    gate.open();
    await world.rollout().terminate();
  });

  it('a rollout that completed', async () => {
    const world = await temporal.world({ nodes: 1 });
    await (await world.startRollout()).result();

    expect(await outcomesOf(world, 2)).toEqual({
      completed: [world.rolloutId],
      updated: [updateNodeId(world.name(1))],
    });
  });

  it('a rollout that was cancelled, with the updates that it took back', async () => {
    const world = await temporal.world({ nodes: 1 });
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;

    await world.rollout().cancel();
    await expect(world.rollout().result()).rejects.toThrow();

    expect(await outcomesOf(world, 2)).toEqual({
      cancelled: [world.rolloutId, updateNodeId(world.name(1))],
    });
    gate.open();
  });

  it('a rollout whose pool was deleted, as failed', async () => {
    const world = await temporal.world({ nodes: 1 });
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;

    world.exists = false;
    await world.tell('the pool is gone');
    await expect(world.rollout().result()).rejects.toThrow();

    expect(await outcomesOf(world, 2)).toEqual({
      failed: [world.rolloutId],
      cancelled: [updateNodeId(world.name(1))],
    });
    gate.open();
  });
});
