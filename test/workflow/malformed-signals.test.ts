/** Every client of Temporal may send anything; it must not stop running work. */

import type { WorkflowHandle } from '@temporalio/client';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** Failures of workflow tasks of this run; there must be none. */
async function failedTasks(handle: WorkflowHandle): Promise<readonly string[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(
    ({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.message ?? [],
  );
}

const NOTHING: readonly unknown[] = [];

it.each([
  ['nodeFinished', [NOTHING, [null], ['p1-n2'], [{ node: 'p1-n2' }]]],
  ['prepared', [NOTHING, [null], [[]], [{ node: 'x'.repeat(2000), config: 'c2' }]]],
  ['clusterChanged', [NOTHING, [null], [7], [{ reason: 'joined', versions: { nodes: '7' } }]]],
])('a rollout goes on after a malformed %s', async (signal, payloads) => {
  const world = await temporal.world({ nodes: 2 });
  const gate = world.hold('drainNode', world.name(1));
  await world.startRollout();
  await gate.reached;

  const rollout: WorkflowHandle = world.rollout();
  for (const payload of payloads) await rollout.signal(signal, ...payload);

  await expect(world.progress()).resolves.toMatchObject({ state: 'Rolling', reports: [] });
  gate.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
  expect(await failedTasks(world.rollout())).toEqual([]);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('a retarget counts although nobody can read of which cache it is', async () => {
  const world = await temporal.world({ nodes: 1 });
  const gate = world.hold('drainNode', world.name(1));
  await world.startRollout();
  await gate.reached;

  const rollout: WorkflowHandle = world.rollout();
  const config = `rendered-${world.pool}-${'0'.repeat(32)}`;
  const request = { config, versions: { nodes: -1, pools: null } };
  const answer = rollout.executeUpdate('retarget', { args: [request] });
  await expect(answer).resolves.toMatchObject({ pool: world.pool });

  gate.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
  expect(await failedTasks(world.rollout())).toEqual([]);
});

it('a report without its phases is no report', async () => {
  const world = await temporal.world({ nodes: 2 });
  const gate = world.hold('drainNode', world.name(1));
  await world.startRollout();
  await gate.reached;

  const rollout: WorkflowHandle = world.rollout();
  await rollout.signal('nodeFinished', { node: world.name(1), config: 'c2', outcome: 'updated' });

  await expect(world.progress()).resolves.toMatchObject({ slots: [world.name(1)], reports: [] });
  gate.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
  expect(await failedTasks(world.rollout())).toEqual([]);
});

it.each([
  ['proceed', [NOTHING, [null], [{ repair: 'yes' }]]],
  ['attach', [NOTHING, [{}], [{ reportTo: 'x'.repeat(2000) }]]],
  ['nodeGone', [NOTHING, [null], [{ reason: 1 }]]],
  ['stopping', [NOTHING, [null], [{ reason: 1 }]]],
])('a node update goes on after a malformed %s', async (signal, payloads) => {
  const world = await temporal.world({ nodes: 1 });
  const gate = world.hold('drainNode', world.name(1));
  await world.startRollout();
  await gate.reached;

  const update: WorkflowHandle = world.update(world.name(1));
  for (const payload of payloads) await update.signal(signal, ...payload);

  await expect(update.query('status')).resolves.toMatchObject({ phase: 'Draining' });
  gate.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
  expect(await failedTasks(update)).toEqual([]);
  expect(world.cordoned()).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('a malformed proceed is no slot', async () => {
  const world = await temporal.world({ nodes: 2 });
  const gate = world.hold('drainNode', world.name(1));
  await world.startRollout();
  await gate.reached;
  await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));

  const update: WorkflowHandle = world.update(world.name(2));
  await update.signal('proceed', { slot: 'pool-rollout/other' });

  await expect(update.query('status')).resolves.toMatchObject({ phase: 'WaitingForSlot' });
  gate.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
  expect(world.mostUnavailable).toBe(1);
});
