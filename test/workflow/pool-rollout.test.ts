import { ANNOTATION, CLUSTER_QUEUE, NodeState } from '../../core/names';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import { aRestartPlan } from './support/plans';
import { containing } from './support/containing';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

describe('a rollout', () => {
  it('brings every node to the config, one after the other, the oldest first', async () => {
    const world = await temporal.world({ nodes: 4 });

    const result = await (await world.startRollout()).result();

    expect(result).toMatchObject({ state: 'Completed', updated: 4, machineCount: 4 });
    expect(result.reports.map(({ node }) => node)).toEqual(world.nodeNames());
    expect(world.mostUnavailable).toBe(1);
    expect(world.updatedNodes()).toEqual(world.nodeNames());
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('uses every slot, and never one more', async () => {
    const world = await temporal.world({ nodes: 5, maxUnavailable: 2 });
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;

    const progress = await world.progressUntil(
      ({ slots, children }) =>
        slots.length === 2 && children.filter(({ stage }) => stage === 'waiting').length === 2,
    );

    expect(progress.state).toBe('Rolling');
    expect(world.cordoned()).toHaveLength(2);
    gate.open();
    await world.rollout().result();
    expect(world.mostUnavailable).toBe(2);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('prepares nodes before they have a slot, as many as the policy says', async () => {
    const world = await temporal.world({ nodes: 4, policy: { prepareAhead: 2 } });
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;

    const progress = await world.progressUntil(
      ({ children }) => children.filter(({ stage }) => stage === 'waiting').length === 2,
    );

    expect(progress.children).toHaveLength(3);
    expect(world.cordoned()).toHaveLength(1);
    expect(world.stepsOf(world.name(4))).toEqual([]);
    gate.open();
    await world.rollout().result();
  });

  it('counts a node that is unavailable for another reason', async () => {
    const world = await temporal.world({ nodes: 3 });
    world.changeNode(world.name(3), { ready: false });
    await world.startRollout();
    // Before that it may wait to learn which updates run; slots are granted only after that.
    const { state } = await world.progressUntil(
      ({ blocker, children }) =>
        blocker?.includes(world.name(3)) === true &&
        children.some(({ stage }) => stage === 'waiting'),
    );

    expect(state).toBe('Blocked');
    expect(world.cordoned()).toEqual([]);
    world.changeNode(world.name(3), { ready: true });
    await world.tell('node is Ready');
    await world.rollout().result();
    expect(world.violations).toEqual([]);
  });

  it('leaves a node alone that a person cordoned, and waits for them', async () => {
    const world = await temporal.world({ nodes: 2, maxUnavailable: 2 });
    world.changeNode(world.name(1), { unschedulable: true });
    await world.startRollout();

    const { blocked } = await world.progressUntil(({ updated }) => updated === 1);

    expect(blocked).toEqual([{ node: world.name(1), reason: containing('cordoned by a person') }]);
    expect(world.stepsOf(world.name(1))).toEqual([]);
    expect(world.cordoned()).toEqual([world.name(1)]);
    await world.rollout().terminate();
  });

  it('is completed at once when there is nothing to do', async () => {
    const world = await temporal.world({ nodes: 2, config: 'c1' });

    await expect((await world.startRollout()).result()).resolves.toMatchObject({
      state: 'Completed',
      updated: 2,
      reports: [],
    });
  });

  it('waits for the first rendered config', async () => {
    const world = await temporal.world({ nodes: 1, config: undefined });
    await world.startRollout();
    const waiting = await world.progressUntil(({ state }) => state === 'WaitingForRender');

    world.config = 'c2';
    await world.tell('rendered');

    expect(waiting.blocker).toContain('RenderDegraded');
    await expect(world.rollout().result()).resolves.toMatchObject({ config: 'c2', updated: 1 });
  });

  it('does not start a node twice or give its slot away when its view is behind', async () => {
    const world = await temporal.world({ nodes: 3 });
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;
    // The view shows the first node cordoned and on the old config, and does not change.
    world.freezeView();
    gate.open();
    await world.until(() => world.cordoned().includes(world.name(2)));
    world.thawView();

    await world.rollout().result();

    expect(world.stepsOf(world.name(1)).filter((step) => step === 'prepareUpdate')).toHaveLength(1);
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
  });

  it('never gives too many slots while its view shows no cordon at all', async () => {
    const world = await temporal.world({ nodes: 4 });
    world.freezeView();
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;
    await world.tell('look again');
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));

    expect(world.cordoned()).toHaveLength(1);
    world.thawView();
    gate.open();
    await world.rollout().result();
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
  });

  it('says why it cannot check its pool, and goes on when it can', async () => {
    const world = await temporal.world({ nodes: 1 });
    world.failWith('selectNodes', undefined, 'InvalidPool', 'maxUnavailable is 0');
    await world.startRollout();
    const { blocker } = await world.progressUntil((progress) => progress.blocker !== undefined);

    await world.progressUntil((progress) => progress.blocker?.includes('InvalidPool') === true);
    world.healAll();
    await world.tell('corrected');

    expect(blocker).toBeDefined();
    await expect(world.rollout().result()).resolves.toMatchObject({ state: 'Completed' });
  });
});

describe('the canary', () => {
  it('is alone until it is verified', async () => {
    const world = await temporal.world({ nodes: 4, maxUnavailable: 3, policy: { canaryNodes: 1 } });
    const gate = world.hold('verifyUpdate');
    await world.startRollout();
    await gate.reached;
    await world.progressUntil(
      ({ children }) => children.filter(({ stage }) => stage === 'waiting').length === 3,
    );

    expect(world.cordoned()).toHaveLength(1);
    gate.open();
    await world.rollout().result();
    expect(world.violations).toEqual([]);
  });
});

describe('the failure threshold', () => {
  it('stops the rollout, which stays open until a node is retried', async () => {
    const world = await temporal.world({ nodes: 4, policy: { failureThreshold: 1 } });
    world.failWith('applyUpdate', world.name(1), 'ApplyFailed', 'disk full', 1);
    await world.startRollout();

    const halted = await world.progressUntil(({ state }) => state === 'Halted');

    expect(halted.blocker).toContain('disk full');
    expect(halted.failed).toEqual([{ node: world.name(1), reason: containing('disk full') }]);
    expect(world.cordoned()).toEqual([]);
    expect(world.stepsOf(world.name(2))).not.toContain('cordonNode');
    await world.rollout().executeUpdate('retryNode', { args: [{ node: world.name(1) }] });
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 4, failed: [] });
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('lets the others go on while it is not met', async () => {
    const world = await temporal.world({ nodes: 3, policy: { failureThreshold: 2 } });
    world.failWith('applyUpdate', world.name(1), 'ApplyFailed', 'disk full', 1);
    await world.startRollout();

    const progress = await world.progressUntil(({ updated }) => updated === 2);

    expect(progress.failed).toHaveLength(1);
    expect(world.updatedNodes()).toEqual([world.name(2), world.name(3)]);
    await world.rollout().terminate();
  });

  it('names a failed node also when that could not be written on its Node', async () => {
    const world = await temporal.world({ nodes: 2, policy: { failureThreshold: '100%' } });
    const node = world.name(1);
    world.failWith('prepareUpdate', node, 'ConfigForbidden', 'not of its pool', 1);
    world.failWith('releaseNode', node, 'ApiRefused', 'refused by a webhook', 1);
    await world.startRollout();

    const progress = await world.progressUntil(({ updated }) => updated === 1);

    expect(progress).toMatchObject({ state: 'Blocked', waitingCount: 0 });
    expect(progress.blocker).toContain(node);
    expect(progress.blocker).toContain('not of its pool');
    await world.rollout().executeUpdate('retryNode', { args: [{ node }] });
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2, failed: [] });
  });

  it('lets a new config through', async () => {
    const world = await temporal.world({ nodes: 2, policy: { failureThreshold: 1 } });
    world.failWith('applyUpdate', world.name(1), 'ApplyFailed', 'disk full', 1);
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Halted');

    const config = `rendered-${world.pool}-3`;
    world.config = config;
    await world.rollout().executeUpdate('retarget', { args: [{ config }] });

    await expect(world.rollout().result()).resolves.toMatchObject({ config, updated: 2 });
    expect(world.violations).toEqual([]);
  });
});

describe('a new config during the rollout', () => {
  it('rolls back every node that can be rolled back, lets the others finish, and rolls all to it', async () => {
    const world = await temporal.world({ nodes: 4, maxUnavailable: 2 });
    const [first, second] = [world.name(1), world.name(2)];
    const rebooting = world.hold('verifyUpdate', first);
    const draining = world.hold('drainNode', second);
    await world.startRollout();
    await Promise.all([rebooting.reached, draining.reached]);

    const config = `rendered-${world.pool}-3`;
    world.config = config;
    await world.rollout().executeUpdate('retarget', { args: [{ config }] });
    await world.until(() => world.stepsOf(second).includes('releaseNode'));
    draining.open();
    rebooting.open();
    await world.rollout().result();

    expect(world.updatedNodes()).toEqual(world.nodeNames());
    expect(world.nodeNames().map((node) => world.host(node).config)).toEqual(Array(4).fill(config));
    const { reports } = await world.progress();
    expect(reports).toContainEqual(
      expect.objectContaining({ node: first, config: 'c2', outcome: 'updated' }),
    );
    expect(reports).toContainEqual(
      expect.objectContaining({ node: second, config: 'c2', outcome: 'cancelled' }),
    );
    expect(world.mostUnavailable).toBe(2);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });
});

describe('a drain that times out', () => {
  it('goes to the back of the queue and is tried again after all others', async () => {
    const world = await temporal.world({ nodes: 3 });
    world.failWith('drainNode', world.name(1), 'DrainTimedOut', 'budget shop/cart allows 0', 1);
    const gate = world.hold('drainNode', world.name(3));
    await world.startRollout();
    await gate.reached;

    const { blocked, failed } = await world.progress();

    expect(blocked[0]).toEqual({
      node: world.name(1),
      reason: containing('budget shop/cart allows 0'),
    });
    expect(failed).toEqual([]);
    gate.open();
    const result = await world.rollout().result();
    expect(result.reports.map(({ node, outcome }) => [node, outcome])).toEqual([
      [world.name(1), 'failed'],
      [world.name(2), 'updated'],
      [world.name(3), 'updated'],
      [world.name(1), 'updated'],
    ]);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('stays failed when the policy says so', async () => {
    const world = await temporal.world({
      nodes: 1,
      policy: { drain: { timeoutSeconds: 30, onTimeout: 'Fail' } },
    });
    world.failWith('drainNode', world.name(1), 'DrainTimedOut', 'budget shop/cart allows 0', 1);
    await world.startRollout();

    const { failed } = await world.progressUntil((progress) => progress.failed.length === 1);

    expect(failed[0]?.reason).toContain('budget shop/cart');
    expect(world.annotation(world.name(1), ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
    await world.rollout().terminate();
  });
});

describe('a node that an earlier update left unavailable', () => {
  it('is repaired by a better config without a slot, although maxUnavailable is used up', async () => {
    const world = await temporal.world({ nodes: 3, policy: { failureThreshold: 1 } });
    const broken = world.name(1);
    world.failWith('verifyUpdate', broken, 'WrongDeployment', 'booted the old one', 1);
    world.failWith('goBack', broken, 'RollbackFailed', 'no previous deployment', 1);
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Halted');
    expect(world.cordoned()).toEqual([broken]);

    world.config = 'c3';
    await world.tell('new config');

    await expect(world.rollout().result()).resolves.toMatchObject({ config: 'c3', updated: 3 });
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('can be retried although another node waits for the slot that it takes', async () => {
    const world = await temporal.world({ nodes: 2 });
    const broken = world.name(1);
    world.failWith('verifyUpdate', broken, 'WrongDeployment', 'booted the old one', 1);
    world.failWith('goBack', broken, 'RollbackFailed', 'no previous deployment', 1);
    await world.startRollout();
    await world.progressUntil(
      ({ failed, children }) =>
        failed.length === 1 && children.some(({ stage }) => stage === 'waiting'),
    );

    await world.rollout().executeUpdate('retryNode', { args: [{ node: broken }] });

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
  });
});

describe('nodes that wait for their slot and are not Ready for a while', () => {
  it('get none for it: no update has left them so', async () => {
    const world = await temporal.world({ nodes: 4, policy: { prepareAhead: 3 } });
    const draining = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await draining.reached;
    await world.progressUntil(
      ({ children }) => children.filter(({ stage }) => stage === 'waiting').length === 3,
    );

    for (const index of [2, 3]) world.changeNode(world.name(index), { ready: false });
    await world.tell('not Ready');
    const { children, slots } = await world.progressUntil(
      (progress) =>
        progress.slots.length > 1 ||
        progress.children.some(({ blocker }) => blocker?.includes('not Ready')),
    );

    expect(slots).toEqual([world.name(1)]);
    expect(children.map(({ node, blocker }) => [node, blocker])).toEqual([
      [world.name(1), undefined],
      [world.name(2), 'not Ready'],
      [world.name(3), 'not Ready'],
      [world.name(4), containing('waiting for a slot: maxUnavailable is 1')],
    ]);
    for (const index of [2, 3]) world.changeNode(world.name(index), { ready: true });
    await world.tell('Ready');
    draining.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 4 });
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('are named when nobody else is left to wait for', async () => {
    const world = await temporal.world({ nodes: 2, maxUnavailable: 2, policy: { canaryNodes: 1 } });
    const verifying = world.hold('verifyUpdate', world.name(1));
    await world.startRollout();
    await verifying.reached;
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
    world.changeNode(world.name(2), { ready: false });
    verifying.open();

    const { blocker } = await world.progressUntil(
      ({ state, updated }) => state === 'Blocked' && updated === 1,
    );

    expect(blocker).toContain(`1 node cannot be taken now: ${world.name(2)} (not Ready)`);
    expect(world.cordoned()).toEqual([]);
    world.changeNode(world.name(2), { ready: true });
    await world.tell('Ready');
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
    expect(world.violations).toEqual([]);
  });
});

describe('a rollout that cannot be', () => {
  it('is refused under another workflow ID, with the right one', async () => {
    const handle = await temporal.client.workflow.start('poolRollout', {
      workflowId: 'my-rollout',
      taskQueue: CLUSTER_QUEUE,
      args: [{ pool: 'worker' }],
    });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'WrongWorkflowId', message: containing('pool-rollout/worker') },
    });
  });

  it('is refused for a pool that does not exist', async () => {
    const handle = await temporal.client.workflow.start('poolRollout', {
      workflowId: 'pool-rollout/nowhere',
      taskQueue: CLUSTER_QUEUE,
      args: [{ pool: 'nowhere' }],
    });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'ObjectNotFound', message: containing('nowhere does not exist') },
    });
  });

  it('rolls back every node and ends as failed when its pool is deleted', async () => {
    const world = await temporal.world({ nodes: 2 });
    const gate = world.hold('drainNode');
    const handle = await world.startRollout();
    await gate.reached;

    world.exists = false;
    await world.tell('the pool is gone');

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'ObjectNotFound', message: containing('was deleted during its rollout') },
    });
    gate.open();
    expect(world.leftovers()).toEqual([]);
    const { typedSearchAttributes } = await handle.describe();
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.outcome)).toBe('failed');
  });

  it('is refused without a pool', async () => {
    const handle = await temporal.client.workflow.start('poolRollout', {
      workflowId: 'pool-rollout/',
      taskQueue: CLUSTER_QUEUE,
      args: [],
    });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'RefusedRequest', message: containing('{"pool": "worker"}') },
    });
  });

  it('takes its nodes back and says so when its pool is deleted', async () => {
    const world = await temporal.world({ nodes: 2 });
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;

    world.exists = false;
    await world.tell('pool deleted');

    await expect(world.rollout().result()).rejects.toMatchObject({
      cause: { type: 'ObjectNotFound', message: containing('was deleted') },
    });
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});

describe('a rollout of restarts only', () => {
  it('takes a slot for each node all the same', async () => {
    const world = await temporal.world({ nodes: 3, plan: aRestartPlan() });

    await (await world.startRollout()).result();

    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
  });
});
