import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { ANNOTATION, poolRolloutId } from '../../core/names';
import {
  retryNodeUpdate,
  statusQuery,
  stoppingSignal,
  type Prepared,
} from '../../workflows/messages';
import { containing } from './support/containing';
import type { FakeWorld } from './support/fake-world';
import { lookTwice } from './support/look-twice';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

/** Events that make a decision outdated before it is carried out. */
let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

async function answersOf(update: ReturnType<FakeWorld['update']>): Promise<number> {
  const { events } = await update.fetchHistory();
  const sent = (events ?? []).map(
    (event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes?.signalName,
  );
  return sent.filter((name) => name === 'prepared').length;
}

/** Slots that the update was granted, and those that it returned, by their time of grant. */
async function slotsOf(update: ReturnType<FakeWorld['update']>) {
  const { events } = await update.fetchHistory();
  const all = (events ?? []).map((event) => ({
    heard: event.workflowExecutionSignaledEventAttributes,
    sent: event.signalExternalWorkflowExecutionInitiatedEventAttributes,
  }));
  const read = (input: { readonly payloads?: Payload[] | null } | null | undefined) =>
    defaultPayloadConverter.fromPayload<Partial<Prepared>>(input?.payloads?.[0] ?? {});
  const given = all.flatMap(({ heard }) =>
    heard?.signalName === 'proceed' ? [read(heard.input).grantedAt] : [],
  );
  const prepared = all.flatMap(({ sent }) =>
    sent?.signalName === 'prepared' ? [read(sent.input)] : [],
  );
  const returned = prepared.filter((said) => said.returned === true);
  return { given, returned: returned.map(({ grantedAt }) => grantedAt) };
}

function isFailed(world: FakeWorld, node: string): boolean {
  return world.annotation(node, ANNOTATION.STATE) === 'Degraded';
}

it('a node that comes back before it is repaired waits for a slot of its own', async () => {
  const world = await temporal.world({ nodes: 2 });
  const [first, second] = [world.name(1), world.name(2)];
  const draining = world.hold('drainNode', first);
  const cordoning = world.hold('cordonNode', second);
  await world.startRollout();
  await draining.reached;
  await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
  // As an update leaves it that failed.
  world.changeNode(second, { ready: false });
  world.changeNode(second, { annotations: { [ANNOTATION.STATE]: 'Working' } });
  await world.tell('an update left a node unavailable');
  await cordoning.reached;

  world.changeNode(second, { ready: true, annotations: { [ANNOTATION.STATE]: 'Done' } });
  await world.tell('it is back');
  cordoning.open();
  const { slots } = await world.progressUntil(
    ({ children }) => children.find(({ node }) => node === second)?.stage === 'waiting',
  );

  expect(slots).toEqual([first]);
  expect(world.cordoned()).toEqual([first]);
  draining.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
  const { given, returned } = await slotsOf(world.update(second));
  expect([given.length, returned]).toEqual([2, [expect.stringMatching(/Z$/)]]);
  expect(given[0]).toBe(returned[0]);
  expect(world.mostUnavailable).toBe(2);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('two slots that reach two workers after the limit was lowered to one', async () => {
  const world = await temporal.world({ nodes: 3, maxUnavailable: 2 });
  const [first, second] = [world.name(1), world.name(2)];
  const gates = [world.hold('cordonNode', first), world.hold('cordonNode', second)];
  const draining = world.hold('drainNode', first);
  await world.startRollout();
  await Promise.all(gates.map(({ reached }) => reached));

  // Neither sees the cordon of the other.
  world.freezeView();
  world.maxUnavailable = 1;
  for (const gate of gates) gate.open();
  await draining.reached;
  const status = await world.update(second).query(statusQuery);

  expect(world.cordoned()).toEqual([first]);
  expect(status).toMatchObject({
    phase: 'WaitingForSlot',
    blocker: containing(
      `no free slot: maxUnavailable is 1, and about to leave service are ${first}`,
    ),
  });
  world.thawView();
  draining.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 3 });
  expect(world.mostUnavailable).toBe(1);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('an update that a lost rollout had stopped for another config is begun anew, and held by nobody', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const draining = world.hold('drainNode', node);
  const discarding = world.hold('discardStaged', node);
  await world.startRollout();
  await draining.reached;
  const before = world.config;
  const config = `rendered-${world.pool}-3`;
  world.config = config;
  await world.rollout().executeUpdate('retarget', { args: [{ config }] });
  await discarding.reached;
  await world.rollout().terminate('lost');
  const first = await world.update(node).describe();

  // The next rollout does not know the other config.
  world.config = before;
  await world.startRollout();
  await world.progressUntil(({ children }) => children.some(({ adopting }) => adopting !== true));
  discarding.open();
  draining.open();
  const result = await world.rollout().result();

  expect(result).toMatchObject({ config: before, updated: 1, held: [] });
  expect(result.reports[0]).toMatchObject({
    ...{ outcome: 'cancelled', stoppedByRollout: true },
    reason: `its rollout stopped it: the pool is rolled to ${config} now`,
  });
  expect((await world.update(node).describe()).runId).not.toBe(first.runId);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('an update answers a new rollout also when it is cancelled in the same moment', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const applying = world.hold('applyUpdate', node);
  const goingBack = world.hold('goBack', node);
  await world.startRollout();
  await applying.reached;
  await world.rollout().terminate();
  const update = world.update(node);
  const before = await answersOf(update);

  const other = poolRolloutId(`${world.pool}-2`);
  await Promise.all([update.signal('attach', { reportTo: other }), update.cancel()]);
  await goingBack.reached;
  applying.open();

  expect(await answersOf(update)).toBe(before + 1);
  goingBack.open();
  await expect(update.result()).rejects.toThrow();
  expect(world.leftovers()).toEqual([]);
});

it('the late word of a rollout of another pool takes no update from its own', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const preparing = world.hold('prepareUpdate', node);
  await world.startRollout();
  await preparing.reached;

  // This signal was meant for an update of the node's previous pool.
  const other = poolRolloutId(`${world.pool}-2`);
  await world.update(node).signal('attach', { reportTo: other });
  preparing.open();

  expect(await world.rollout().result()).toMatchObject({ updated: 1 });
  const { events } = await world.update(node).fetchHistory();
  const told = (events ?? []).flatMap(
    ({ signalExternalWorkflowExecutionInitiatedEventAttributes: sent }) =>
      sent?.workflowExecution?.workflowId === other ? [sent.signalName] : [],
  );
  expect(told).toEqual(['prepared', 'nodeFinished']);
  expect(world.violations).toEqual([]);
});

it('a person who cancels an update is heeded although its rollout stops it, too, and is lost', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const draining = world.hold('drainNode', node);
  const discarding = world.hold('discardStaged', node);
  await world.startRollout();
  await draining.reached;
  await world.update(node).cancel();
  await discarding.reached;

  await world.update(node).signal(stoppingSignal, { reason: 'the rollout was cancelled' });
  await world.rollout().terminate('lost');
  await world.startRollout();
  await world.progressUntil(({ children }) => children.some(({ adopting }) => adopting !== true));
  discarding.open();
  draining.open();

  const { reports } = await world.progressUntil(({ held }) => held.length === 1);
  expect(reports[0]).toMatchObject({ reason: 'the update was cancelled' });
  expect(reports[0]).not.toHaveProperty('stoppedByRollout');
  await world.rollout().terminate();
});

it('a retry that comes while a hold is being written is the last word', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const draining = world.hold('drainNode', node);
  const holding = world.hold('holdNode', node);
  await world.startRollout();
  await draining.reached;
  await world.update(node).cancel();
  await holding.reached;

  const retried = world.rollout().executeUpdate(retryNodeUpdate, { args: [{ node }] });
  await lookTwice(world);
  expect(world.stepsOf(node).filter((step) => step === 'holdNode')).toHaveLength(1);
  holding.open();
  draining.open();
  await retried;

  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
  expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBeUndefined();
});

it('a rollout that is cancelled writes down first what a person has said of its nodes', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const draining = world.hold('drainNode', node);
  const holding = world.hold('holdNode', node);
  await world.startRollout();
  await draining.reached;
  await world.update(node).cancel();
  await holding.reached;

  await world.rollout().cancel();
  await world.progressUntil(({ state }) => state === 'Cancelling');
  holding.open();
  draining.open();

  await expect(world.rollout().result()).rejects.toThrow();
  expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe(world.config);
});

it('a rollout that runs is not said to be cancelled, also where its first look was too old to see it', async () => {
  const world = await temporal.world({ nodes: 1 });
  const draining = world.hold('drainNode', world.name(1));
  await world.startRollout();
  await draining.reached;

  // The cancellation of the previous rollout, which becomes visible only now.
  world.cancelledConfig = world.config;
  await world.tell('the pool changed');

  await world.until(() => world.cancelledConfig === undefined);
  draining.open();
  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
});

it('a node whose update was lost tries another config only when the canary is verified', async () => {
  const world = await temporal.world({ nodes: 2, maxUnavailable: 2, policy: { canaryNodes: 1 } });
  const [first, second] = [world.name(1), world.name(2)];
  const goingBack = world.hold('goBack', first);
  const applying = world.hold('applyUpdate', first);
  const draining = world.hold('drainNode', second);
  await world.startRollout();
  await applying.reached;
  const config = `rendered-${world.pool}-3`;
  world.config = config;
  await world.rollout().executeUpdate('retarget', { args: [{ config }] });
  await goingBack.reached;
  applying.open();
  await draining.reached;

  // The other node has the canary's slot already; only then does this rollout learn of the lost update.
  await world.update(first).terminate('lost');
  goingBack.open();
  await world.progressUntil(({ children }) =>
    children.some(({ node, stage }) => node === first && stage === 'waiting'),
  );
  await lookTwice(world);
  const { children } = await world.progress();

  expect(children.find(({ node }) => node === first)).toMatchObject({
    ...{ config, holdsSlot: true },
    blocker: `waiting for the canary: ${second} must be verified on the config first`,
  });
  draining.open();
  const result = await world.rollout().result();
  expect(result).toMatchObject({ config, updated: 2 });
  expect(result.reports.filter(({ outcome }) => outcome === 'updated')).toMatchObject([
    { node: second },
    { node: first },
  ]);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('a node that a person puts back into service, whose host could not be taken back, has no slot', async () => {
  const world = await temporal.world({ nodes: 2 });
  const [first, second] = [world.name(1), world.name(2)];
  world.failWith('applyUpdate', first, 'ApplyFailed', 'disk full');
  world.failWith('goBack', first, 'RollbackFailed', 'disk still full');
  const looking = world.hold('selectNodes');
  await world.startRollout();
  await looking.reached;
  looking.open();
  const again = world.hold('releaseNode', first);
  await again.reached;
  const blind = world.hold('selectNodes');
  again.open();
  await world.until(() => world.cordoned().includes(first) && isFailed(world, first));

  // No check has seen it out of service.
  world.changeNode(first, { unschedulable: false });
  blind.open();
  await world.tell(`node ${first} was uncordoned`);

  await world.until(() => world.updatedNodes().includes(second));
  expect(world.mostUnavailable).toBe(1);
  expect(world.violations).toEqual([]);
  await world.rollout().terminate();
});

it('a new config that arrives while the last things are written is rolled out, too', async () => {
  const world = await temporal.world({ nodes: 1, config: 'c1' });
  world.cancelledConfig = 'c1';
  const writing = world.hold('markRolloutCancelled');
  await world.startRollout();
  await writing.reached;
  await world.progressUntil(({ state }) => state === 'Completed');

  const config = `rendered-${world.pool}-2`;
  world.config = config;
  const answer = await world.rollout().executeUpdate('retarget', { args: [{ config }] });
  writing.open();

  expect(answer).not.toHaveProperty('reports');
  await expect(world.rollout().result()).resolves.toMatchObject({ config, updated: 1 });
  expect(world.cancelledConfig).toBeUndefined();
  expect(world.violations).toEqual([]);
});

it('the host has committed before its node is said to be on the config', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const committing = world.hold('commitUpdate', node);
  await world.startRollout();
  await committing.reached;

  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.cordoned()).toEqual([node]);
  committing.open();

  await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
  const writes = ['completeNode', 'commitUpdate'];
  expect(world.stepsOf(node).filter((step) => writes.includes(step))).toEqual([
    'commitUpdate',
    'completeNode',
  ]);
});

it('a rollout that is cancelled before its first look stops the updates of the one before', async () => {
  const world = await temporal.world({ nodes: 1 });
  const node = world.name(1);
  const draining = world.hold('drainNode', node);
  await world.startRollout();
  await draining.reached;
  await world.rollout().terminate('lost');
  const looking = world.hold('selectNodes', '');
  await world.startRollout();
  await looking.reached;

  await world.rollout().cancel();
  looking.open();
  await world.progressUntil(({ children }) => children.some(({ cancelling }) => cancelling));
  draining.open();

  await expect(world.rollout().result()).rejects.toThrow();
  await expect(world.update(node).result()).rejects.toThrow();
  expect(world.updatedNodes()).toEqual([]);
  expect(world.violations).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('a rollout that is cancelled, and cannot look at its pool, has the pool remember it', async () => {
  const world = await temporal.world({ nodes: 1 });
  world.failWith('selectNodes', '', 'ApiRefused', 'rendered configs may not be read');
  const marking = world.hold('markRolloutCancelled');
  await world.startRollout();

  await world.rollout().cancel();
  await marking.reached;

  const { state } = await world.progressUntil(
    ({ blocker }) => blocker === 'waiting for its pool to remember that it was cancelled',
  );
  expect(state).toBe('Cancelling');
  marking.open();
  await expect(world.rollout().result()).rejects.toThrow();
  expect(world.cancelledConfig).toBe('c2');
});
