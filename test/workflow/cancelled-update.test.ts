/** An update of a node that is not wanted any more: a step of its rollout cancels it, or a person does in Temporal. */

import { ANNOTATION, NodeState } from '../../core/names';
import { containing } from './support/containing';
import type { FakeWorld, WorldOptions } from './support/fake-world';
import { deeds, expectBackInService, oneNodeOn, type OneNode } from './support/one-node';
import { aPlan, aRestartPlan } from './support/plans';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterEach(() => {
  expect(temporal.violations()).toEqual([]);
});
afterAll(() => temporal.stop(), 60_000);

/** Its update is at this step, where it is held. */
async function oneNodeAt(
  step: string,
  options: WorldOptions = {},
): Promise<OneNode & { readonly gate: ReturnType<FakeWorld['hold']> }> {
  const one = await oneNodeOn(temporal, options);
  const gate = one.world.hold(step, one.node);
  await one.world.startUpdate(one.node);
  await gate.reached;
  return { ...one, gate };
}

/** Whether the server knew the end of one activity when the update scheduled the other. */
async function isOverBefore({ world, node }: OneNode, step: string, next: string) {
  const { events } = await world.update(node).fetchHistory();
  const all = events ?? [];
  const scheduled = (name: string): number =>
    all.findIndex(
      ({ activityTaskScheduledEventAttributes: attributes }) =>
        attributes?.activityType?.name === name,
    );
  const begun = all[scheduled(step)];
  const over = all.findIndex((event) =>
    [
      event.activityTaskCompletedEventAttributes,
      event.activityTaskCanceledEventAttributes,
      event.activityTaskFailedEventAttributes,
    ].some((end) => end && String(end.scheduledEventId) === String(begun?.eventId)),
  );
  return over >= 0 && over < scheduled(next);
}

/** The server has been asked to cancel an activity. */
async function untilCancelling({ world, node }: OneNode): Promise<void> {
  for (;;) {
    const { events } = await world.update(node).fetchHistory();
    if (events?.some((event) => event.activityTaskCancelRequestedEventAttributes)) return;
  }
}

describe('an update that a person cancels in Temporal', () => {
  it.each([
    ...['prepareUpdate', 'takeOutOfService', 'drainNode', 'applyUpdate', 'checkCordon'],
    'performServiceActions',
  ])('at %s takes back what was done, and its node is held', async (at) => {
    const plan = at === 'performServiceActions' ? aRestartPlan() : aPlan();
    const one = await oneNodeAt(at, { plan });
    const { world, node } = one;

    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({ outcome: 'cancelled', status: 'CANCELLED' });
    expect(deeds(one)).not.toContain('armReboot');
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe('c2');
    expect(world.annotation(node, ANNOTATION.HELD_REASON)).toBe(
      'a person cancelled the update in Temporal',
    );
    expectBackInService(one);
    expect(world.host(node).failed).toBeUndefined();
  });

  it.each([
    ['cordon', 'takeOutOfService', undefined],
    ['cordon', 'takeOutOfService', 'ApiUnavailable'],
    ['cordon', 'takeOutOfService', 'ApiRefused'],
    ['drainNode', 'drainNode', undefined],
  ])(
    'in the middle of %s (%s, which ends with %s) gives its node back after that',
    async (...how) => {
      const [at, activity, failure] = how;
      const one = await oneNodeAt(at);
      const { world, node } = one;
      if (failure !== undefined) world.failWith(at, node, failure, 'something is wrong');

      await world.update(node).cancel();
      await untilCancelling(one);
      one.gate.open();

      expect(await world.ended(node)).toMatchObject({ outcome: 'cancelled', status: 'CANCELLED' });
      expect(await isOverBefore(one, activity, 'releaseNode')).toBe(true);
      expect(deeds(one)).not.toContain('goBack');
      expectBackInService(one);
    },
  );

  it('while its host prepares drops what the host stages all the same', async () => {
    const one = await oneNodeAt('prepareUpdate');

    await one.world.update(one.node).cancel();

    await one.world.ended(one.node);
    expect(deeds(one)).toContain('discardStaged');
  });

  it('while it waits for its grant costs the node nothing', async () => {
    const one = await oneNodeAt('takeOutOfService');
    const { world, node } = one;
    const dropping = world.hold('discardStaged', node);

    await world.update(node).cancel();
    await dropping.reached;
    const blocker = 'the host to drop what it has staged';
    while ((await world.status(node)).blocker !== blocker);
    dropping.open();
    await world.ended(node);

    expect([...deeds(one)].sort()).toEqual(['discardStaged', 'prepareUpdate', 'releaseNode']);
    expect(world.leftovers()).toEqual([]);
  });

  it.each(['armReboot', 'verifyUpdate', 'awaitReturn', 'commitUpdate', 'completeNode'])(
    'at %s, past the point of no return, finishes first',
    async (at) => {
      const { world, node, gate } = await oneNodeAt(at);

      await world.update(node).cancel();
      await world.until(() => world.stepsOf(node).includes('whyCancelled'));
      gate.open();

      expect(await world.ended(node)).toMatchObject({ outcome: 'updated', status: 'COMPLETED' });
      expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBeUndefined();
      expect(world.updatedNodes()).toEqual([node]);
      expect(world.leftovers()).toEqual([]);
    },
  );

  it('while it fails goes back all the same, and its node is held', async () => {
    const one = await oneNodeOn(temporal);
    const { world, node } = one;
    const gate = world.hold('goBack', node);
    world.failWith('verifyUpdate', node, 'VerifyFailed', 'a unit has failed', 1);
    await world.startUpdate(node);
    await gate.reached;

    await world.update(node).cancel();
    await world.until(() => world.stepsOf(node).includes('whyCancelled'));
    gate.open();

    expect(await world.ended(node)).toMatchObject({ outcome: 'failed', failure: 'VerifyFailed' });
    expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe('c2');
    expectBackInService(one);
  });

  it('takes its node back also when nobody can say why it is cancelled', async () => {
    const one = await oneNodeAt('drainNode');
    one.world.failWith('whyCancelled', one.node, 'ApiRefused', 'denied by a policy');

    await one.world.update(one.node).cancel();

    expect(await one.world.ended(one.node)).toMatchObject({ status: 'CANCELLED' });
    expect(one.world.annotation(one.node, ANNOTATION.HELD_FOR)).toBeUndefined();
    expectBackInService(one);
  });
});

/** What happens in the cluster; a step of the rollout sees it, and cancels the update. */
const UNWANTED: readonly [how: string, act: (one: OneNode) => void, reason: string][] = [
  ['is held by a person', ({ world, node }) => world.holdNode(node), 'HeldByUser: '],
  ['is moved to another pool', ({ world, node }) => world.moveNode(node), 'NodeMoved: '],
  ['is to get another config', ({ world }) => world.retarget('c3'), 'Retargeted: '],
];

const FOR_ALL: readonly [how: string, act: (one: OneNode) => void, reason: string][] = [
  ...UNWANTED,
  ['is in a rollout that is cancelled', ({ world }) => world.cancelRollout(), 'a person cancelled'],
  ['has lost its pool', ({ world }) => world.deletePool(), 'its pool was deleted'],
];

describe.each(FOR_ALL)('the update of a node that %s', (_how, act, reason) => {
  it.each(['prepareUpdate', 'drainNode', 'applyUpdate'])(
    'and is cancelled for that at %s is taken back',
    async (at) => {
      const one = await oneNodeAt(at);
      const { world, node } = one;
      act(one);
      const heldFor = world.annotation(node, ANNOTATION.HELD_FOR);
      await world.update(node).cancel();

      expect(await world.ended(node)).toMatchObject({ outcome: 'cancelled', status: 'CANCELLED' });
      expect(world.releases).toMatchObject([{ outcome: 'cancelled', reason: containing(reason) }]);
      expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe(heldFor);
      expectBackInService(one);
    },
  );

  it('finishes first when its reboot is under way', async () => {
    const one = await oneNodeAt('verifyUpdate');
    act(one);
    await one.world.update(one.node).cancel();
    await one.world.until(() => one.world.stepsOf(one.node).includes('whyCancelled'));
    one.gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'updated' });
    expect(one.world.leftovers()).toEqual([]);
  });
});

describe.each(UNWANTED)('the update of a node that %s', (_how, act, reason) => {
  it('ends by itself while it waits for its grant, and that is no failure', async () => {
    const one = await oneNodeAt('takeOutOfService');
    act(one);

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'cancelled' });
    expect(one.world.releases).toMatchObject([{ reason: containing(reason) }]);
    expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expectBackInService(one);
  });
});

it('an update whose drain sees the hold of a person before it is cancelled is no failure', async () => {
  const one = await oneNodeAt('drainNode');
  one.world.holdNode(one.node);
  one.gate.open();

  expect(await one.world.ended(one.node)).toMatchObject({
    ...{ outcome: 'cancelled', failure: 'HeldByUser' },
  });
  expect(deeds(one)).not.toContain('applyUpdate');
  expectBackInService(one);
});

describe('the update of a node that is deleted', () => {
  it.each([
    ...['prepareUpdate', 'takeOutOfService', 'drainNode', 'applyUpdate', 'checkCordon'],
    ...['armReboot', 'verifyUpdate', 'awaitReturn', 'commitUpdate', 'completeNode'],
  ])('and is cancelled for that at %s ends at once', async (at) => {
    const { world, node } = await oneNodeAt(at);
    world.deleteNode(node);
    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({
      ...{ outcome: 'cancelled', status: 'FAILED', failure: 'NodeDeleted' },
    });
    expect((await world.status(node)).phase).toBe('Gone');
    expect(world.releases).toEqual([]);
  });

  it('ends at once on its way back, too', async () => {
    const { world, node } = await oneNodeOn(temporal);
    const gate = world.hold('goBack', node);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'disk full');
    await world.startUpdate(node);
    await gate.reached;
    world.deleteNode(node);
    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({ failure: 'NodeDeleted' });
    expect(world.stepsOf(node)).not.toContain('verifyBack');
  });

  it('ends by itself with its next step in the cluster', async () => {
    const { world, node, gate } = await oneNodeAt('prepareUpdate');
    world.deleteNode(node);
    gate.open();

    expect(await world.ended(node)).toMatchObject({
      ...{ outcome: 'cancelled', failure: 'NodeDeleted' },
    });
    expect(world.releases).toEqual([]);
  });

  it('leaves another node of its name alone', async () => {
    const { world, node } = await oneNodeAt('applyUpdate');
    world.deleteNode(node);
    world.replaceNode(node);
    const before = world.node(node);
    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({
      ...{ failure: 'NodeDeleted', reason: containing('another node has its name') },
    });
    expect(world.node(node)).toEqual(before);
  });
});
