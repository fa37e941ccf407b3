/** The view in Temporal: the page of a rollout, and how everything ended. */

import type { WorkflowHandle } from '@temporalio/client';
import { poolRolloutId } from '../../core/names';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import type { StepResult } from '../../workflows/contracts/rollout';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** A rollout whose steps are answered so. */
async function rolloutOf(pool: string, answer: Partial<StepResult>): Promise<WorkflowHandle> {
  const script = temporal.script(pool);
  script.answer = () => answer;
  await new RolloutWaker(temporal.client.workflow).wake(pool, {});
  await script.untilSteps(1);
  return temporal.client.workflow.getHandle(poolRolloutId(pool));
}

/** The details on the page of a workflow, as the UI asks for them. */
async function detailsOf(handle: WorkflowHandle): Promise<readonly string[]> {
  const { currentDetails } = await handle.query<{ readonly currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  return currentDetails.split('\n');
}

async function detailsWith(handle: WorkflowHandle, text: string): Promise<readonly string[]> {
  for (;;) {
    const details = await detailsOf(handle);
    if (details.some((line) => line.includes(text))) return details;
  }
}

/** Workflow IDs of a pool with this outcome; none of them has another. */
async function foundBy(pool: string, outcome: string): Promise<readonly string[]> {
  const query = `SlipwayPool = '${pool}' AND SlipwayOutcome = '${outcome}'`;
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
  pool: string,
  count: number,
): Promise<Readonly<Record<string, readonly string[]>>> {
  for (;;) {
    const { count: shown } = await temporal.client.workflow.count(
      `SlipwayPool = '${pool}' AND SlipwayOutcome IS NOT NULL AND ExecutionStatus != 'Running'`,
    );
    if (shown >= count) break;
  }
  const outcomes = ['completed', 'failed', 'cancelled', 'not started'];
  const found = await Promise.all(outcomes.map((outcome) => foundBy(pool, outcome)));
  return Object.fromEntries(
    outcomes.map((outcome, i) => [outcome, found[i] ?? []]).filter(([, ids]) => ids?.length !== 0),
  ) as Readonly<Record<string, readonly string[]>>;
}

describe('the page in the Temporal UI', () => {
  it('of a rollout says where it stands, and where its nodes are shown', async () => {
    const handle = await rolloutOf('page', {
      ...{ state: 'Halted', updated: '12 of 200', blocker: '3 nodes have failed' },
    });

    expect(await detailsWith(handle, 'Halted')).toEqual([
      '**page** → `rendered-x` — **Halted**, 12 of 200 nodes updated',
      '',
      '3 nodes have failed',
      '',
      'Nodes: `kubectl get poolrollout page -o yaml` or `slipway rollout status page`',
    ]);
    await handle.terminate();
  });

  it('of an update says what it does, what it waits for, and how long each phase took', async () => {
    const world = await temporal.world();
    const node = world.name(1);
    const gate = world.hold('drainNode', node);
    await world.startUpdate(node);
    await gate.reached;

    const details = (await detailsOf(world.update(node))).map((line) =>
      line.replace(/[\d.]+ \|$/, 'S |').replace(/since .* \|$/, 'since TIME |'),
    );
    expect(details).toEqual([
      `**${node}** (pool ${world.pool}) → \`c2\``,
      '',
      'Plan: reboot: kernel arguments changed (+nosmt)',
      '',
      'Waits for: pods to leave the node',
      '',
      '| phase | seconds |',
      '| --- | --- |',
      '| Preparing | S |',
      '| WaitingForGrant | S |',
      '| **Draining** | since TIME |',
    ]);
    gate.open();
    await world.ended(node);
  });
});

describe('the search attribute for the outcome finds a rollout', () => {
  it.each([
    ['completed', { ended: 'completed' }],
    ['not started', { ended: 'not started' }],
    ['cancelled', { ended: 'cancelled' }],
    ['failed', { ended: 'pool deleted' }],
  ] as const)('that is %s', async (outcome, answer) => {
    const pool = `ends-${outcome.slice(0, 3)}`;
    const handle = await rolloutOf(pool, answer);
    await handle.result().catch(() => undefined);

    expect(await outcomesOf(pool, 1)).toEqual({ [outcome]: [poolRolloutId(pool)] });
  });
});
