/** The update of one node on a real Temporal server: from its start to its end, or back. */

import { ANNOTATION, CLUSTER_QUEUE, NodeState, updateNodeId } from '../../core/names';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import type { NodeUpdateInput } from '../../workflows/contracts/update';
import { containing } from './support/containing';
import type { WorldOptions } from './support/fake-world';
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

const oneNode = (options?: WorldOptions) => oneNodeOn(temporal, options);

/** Asks until the update says that it waits for this. */
async function untilBlockedBy({ world, node }: OneNode, blocker: string): Promise<void> {
  while ((await world.status(node)).blocker !== blocker);
}

describe('the update of a node', () => {
  it('prepares before it disturbs, verifies before it completes', async () => {
    const one = await oneNode();

    const { outcome, report } = await one.world.run(one.node);

    expect(deeds(one)).toEqual([
      'prepareUpdate',
      'cordon',
      'drainNode',
      'applyUpdate',
      'armReboot',
      'verifyUpdate',
      'awaitReturn',
      'commitUpdate',
      'completeNode',
    ]);
    expect(outcome).toBe('updated');
    const { node } = one;
    expect(report).toMatchObject({ node, config: 'c2', outcome: 'updated' });
    expect(report?.phases.map(({ phase }) => phase)).toEqual([
      'Preparing',
      'WaitingForGrant',
      'Draining',
      'Applying',
      'Rebooting',
      'Verifying',
      'Completing',
    ]);
    expect(one.world.leftovers()).toEqual([]);
  });

  it('tells a host that was in another pool that it has moved, and only such a host', async () => {
    const one = await oneNode();
    const { world, node } = one;
    world.host(node).pool = 'uid-elsewhere';

    expect(await world.run(node)).toMatchObject({ outcome: 'updated' });
    expect(deeds(one).filter((step) => step === 'prepareUpdate')).toHaveLength(2);
    expect(world.host(node).pool).toBe(`uid-${world.pool}`);
  });

  it('ends as cancelled when the cluster has overtaken its first order', async () => {
    const one = await oneNode();
    one.world.failWith('prepareUpdate', one.node, 'OrderOutdated', 'the target is c3', 1);

    expect(await one.world.run(one.node)).toMatchObject({
      outcome: 'cancelled',
      failure: 'OrderOutdated',
    });
    expect(deeds(one)).toEqual(['prepareUpdate', 'releaseNode']);
    expectBackInService(one);
  });

  it('neither cordons nor drains for a restart of a service', async () => {
    const one = await oneNode({ plan: aRestartPlan() });

    await one.world.run(one.node);

    expect(deeds(one)).toContain('performServiceActions');
    expect(deeds(one)).not.toContain('drainNode');
    expect(deeds(one)).not.toContain('armReboot');
    expect(one.world.leftovers()).toEqual([]);
  });

  it('touches no service when no change asks for it', async () => {
    const plan = aPlan({ actions: [{ type: 'None' }], drain: false, reboot: false });
    const one = await oneNode({ plan });

    await one.world.run(one.node);

    expect(deeds(one)).not.toContain('performServiceActions');
    expect(one.world.updatedNodes()).toEqual([one.node]);
  });

  it('does not drain a node that the cordon found empty', async () => {
    const one = await oneNode();
    one.world.withoutPods = true;

    const { report } = await one.world.run(one.node);

    expect(deeds(one)).not.toContain('drainNode');
    expect(report?.phases.map(({ phase }) => phase)).not.toContain('Draining');
  });

  it('waits for its grant, out of which no node is disturbed', async () => {
    const one = await oneNode();
    const waiting = one.world.hold('takeOutOfService', one.node);
    await one.world.startUpdate(one.node);
    await waiting.reached;

    expect(await one.world.status(one.node)).toMatchObject({
      ...{ phase: 'WaitingForGrant', blocker: 'a grant of its pool', pastPointOfNoReturn: false },
    });
    expect(deeds(one)).toEqual(['prepareUpdate']);
    expect(one.world.cordoned()).toEqual([]);
    waiting.open();
    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'updated' });
  });

  it('only says so when the host is on the config already', async () => {
    const one = await oneNode();
    one.world.host(one.node).config = 'c2';

    const { outcome } = await one.world.run(one.node);

    expect(outcome).toBe('updated');
    expect(deeds(one)).toEqual(['prepareUpdate', 'completeNode']);
    expect(one.world.updatedNodes()).toEqual([one.node]);
  });

  it('shows what it is in search attributes', async () => {
    const { world, node } = await oneNode();
    await world.run(node);

    const { typedSearchAttributes, raw } = await world.update(node).describe();

    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.pool)).toBe(world.pool);
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.node)).toBe(node);
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.config)).toBe('c2');
    expect(raw.executionConfig?.userMetadata?.summary?.data).toBeDefined();
  });

  it('says what it does and waits for', async () => {
    const { world, node } = await oneNode();
    const gate = world.hold('drainNode', node);
    await world.startUpdate(node);
    await gate.reached;

    expect(await world.status(node)).toMatchObject({
      node,
      phase: 'Draining',
      summary: 'reboot: kernel arguments changed (+nosmt)',
      blocker: 'pods to leave the node',
      pastPointOfNoReturn: false,
    });
    gate.open();
    await world.ended(node);
  });

  it.each([
    ['goBack', 'the host to go back to its old config'],
    ['verifyBack', 'the host to verify its old config'],
    ['awaitReturn', 'the node to be Ready on its old config'],
    ['releaseNode', 'its Node to be given back'],
  ])('says what it waits for on its way back: %s', async (step, blocker) => {
    const { world, node } = await oneNode();
    const gate = world.hold(step, node);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'operation not permitted');
    await world.startUpdate(node);
    await gate.reached;

    expect(await world.status(node)).toMatchObject({ phase: 'GoingBack', blocker });
    gate.open();
    expect(await world.ended(node)).toMatchObject({ outcome: 'failed' });
  });

  it('says that it waits for the node to be Ready after a service was restarted', async () => {
    const { world, node } = await oneNode({ plan: aRestartPlan() });
    const gate = world.hold('awaitReturn', node);
    await world.startUpdate(node);
    await gate.reached;

    expect(await world.status(node)).toMatchObject({
      ...{ phase: 'Verifying', blocker: 'the node to be Ready' },
    });
    // So that it shows on the MachineConfigNode.
    expect(world.awaited).toMatchObject([{ summary: aRestartPlan().summary }]);
    gate.open();
    await world.ended(node);
  });

  it('names what each step of the host waits for', async () => {
    const { world, node } = await oneNode();
    const blockers: Record<string, string | undefined> = {};
    const steps = ['prepareUpdate', 'applyUpdate', 'armReboot', 'verifyUpdate', 'commitUpdate'];
    const gates = steps.map((step) => [step, world.hold(step, node)] as const);
    await world.startUpdate(node);
    for (const [step, gate] of gates) {
      await gate.reached;
      blockers[step] = (await world.status(node)).blocker;
      gate.open();
    }

    expect(blockers).toEqual({
      prepareUpdate: 'the host to prepare it',
      applyUpdate: 'the host to write its files',
      armReboot: 'the host to begin its reboot',
      verifyUpdate: 'the machine to come back and prove what it has',
      commitUpdate: 'the host to make it its current config',
    });
    await world.ended(node);
  });

  it('survives that its phase cannot be shown', async () => {
    const { world, node } = await oneNode();
    world.failWith('showGoingBack', node, 'Unreconcilable', 'cannot be shown');
    world.failWith('verifyUpdate', node, 'VerifyFailed', 'no');

    expect(await world.run(node)).toMatchObject({ outcome: 'failed' });
    expectBackInService({ world, node });
  });

  it.each([
    ['prepareUpdate', 'ConfigFetchFailed'],
    ['takeOutOfService', 'ApiUnavailable'],
    ['cordon', 'ApiUnavailable'],
    ['awaitReturn', 'ApiUnavailable'],
    ['completeNode', 'ApiUnavailable'],
  ])('tries %s again, which fails for a moment with %s', async (step, failure) => {
    const { world, node } = await oneNode();
    world.failWith(step, node, failure, 'connection refused', 1);

    expect(await world.run(node)).toMatchObject({ outcome: 'updated' });
    expect(world.stepsOf(node).filter((taken) => taken === step)).toHaveLength(2);
    expect(world.leftovers()).toEqual([]);
  });
});

describe('a node update that fails', () => {
  const back = ['goBack', 'releaseNode', 'verifyBack'];
  it.each([
    ['prepareUpdate', 'DigestMismatch', ['releaseNode']],
    ['drainNode', 'ObjectNotFound', ['discardStaged', 'releaseNode']],
    ['applyUpdate', 'ApplyFailed', ['discardStaged', ...back]],
    ['armReboot', 'OrderRefused', back],
    ['verifyUpdate', 'WrongDeployment', back],
    ['awaitReturn', 'NodeNotReady', back],
    ['performServiceActions', 'ApplyFailed', ['discardStaged', ...back]],
  ])('at %s with %s takes back what was done', async (at, name, undone) => {
    const plan = at === 'performServiceActions' ? aRestartPlan() : aPlan();
    const one = await oneNode({ plan });
    const { world, node } = one;
    world.failWith(at, node, name, 'something is wrong', 1);

    expect(await world.run(node)).toEqual({
      ...{ outcome: 'failed', status: 'FAILED' },
      ...{ failure: name, reason: `${node}: something is wrong` },
    });

    const after = new Set(deeds(one).slice(deeds(one).indexOf(at) + 1));
    expect([...after].filter((step) => step !== 'awaitReturn').sort()).toEqual(undone);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
    expect(world.annotation(node, ANNOTATION.REASON)).toContain(`${name}: something is wrong`);
    expectBackInService(one);
  });

  it('names what the way back has left of somebody else', async () => {
    const { world, node } = await oneNode();
    world.host(node).kept = ['/etc/added'];
    world.failWith('applyUpdate', node, 'ApplyFailed', 'the disk is full');

    await world.run(node);

    expect(world.annotation(node, ANNOTATION.REASON)).toContain(
      'the disk is full; what somebody else has put into /etc/added stays there',
    );
  });

  it('leaves a node that cannot be changed in place untouched', async () => {
    const reason = 'partition table changed';
    const one = await oneNode({ plan: aPlan({ reconcilable: { ok: false, reason } }) });

    expect(await one.world.run(one.node)).toMatchObject({ failure: 'Unreconcilable' });

    expect(one.world.stepsOf(one.node)).not.toContain('takeOutOfService');
    expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.UNRECONCILABLE);
    expectBackInService(one);
  });

  it('keeps the cordon, with the reason, only when the host cannot be taken back', async () => {
    const { world, node } = await oneNode();
    world.failWith('verifyUpdate', node, 'WrongDeployment', 'booted the old one');
    world.failWith('goBack', node, 'RollbackFailed', 'no previous deployment');

    expect(await world.run(node)).toMatchObject({ outcome: 'failed', failure: 'RollbackFailed' });

    expect(world.cordoned()).toEqual([node]);
    expect(world.annotation(node, ANNOTATION.REASON)).toContain('no previous deployment');
  });

  it('names a machine that does not come back from its reboot', async () => {
    const one = await oneNode({ policy: { rebootTimeoutSeconds: 2 } });
    one.world.failWith('verifyUpdate', one.node, 'NotYetRebooted', 'same boot ID');

    expect(await one.world.run(one.node)).toMatchObject({
      ...{ outcome: 'failed', failure: 'NotYetRebooted', reason: containing('same boot ID') },
    });
    expectBackInService(one);
  });

  it('names a host that does not answer, and leaves its node alone', async () => {
    const { world } = await oneNode({ policy: { reconnectSeconds: 1 } });
    const node = world.addNodeWithoutHost();

    expect(await world.run(node)).toMatchObject({
      ...{ outcome: 'failed', failure: 'HostUnreachable', reason: containing('did not pick up') },
    });
    expect(deeds({ world, node })).toEqual(['releaseNode']);
  });

  it('says what it waits for when its host drops a staged deployment after the release', async () => {
    const one = await oneNode();
    one.world.failWith('cordon', one.node, 'CordonedByUser', 'a person cordoned it', 1);
    const releasing = one.world.hold('releaseNode', one.node);
    const dropping = one.world.hold('discardStaged', one.node);
    await one.world.startUpdate(one.node);

    await Promise.all([releasing.reached, dropping.reached]);
    await untilBlockedBy(one, 'its Node to be given back');
    releasing.open();
    await untilBlockedBy(one, 'the host to drop what it has staged');
    dropping.open();
    await one.world.ended(one.node);
  });

  describe('because a drain timed out', () => {
    const blocked = 'node was not drained within 30 s: budget shop/cart allows 0';

    it('is tried again later, which is no failure of its node', async () => {
      const one = await oneNode();
      const inLine = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
      one.world.changeNode(one.node, { taints: [inLine] });
      one.world.failWith('drainNode', one.node, 'DrainTimedOut', blocked, 1);

      expect(await one.world.run(one.node)).toMatchObject({ failure: 'DrainTimedOut' });

      expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.DONE);
      expect(one.world.annotation(one.node, ANNOTATION.DRAIN_TIMED_OUT)).toBeDefined();
      expect(one.world.node(one.node).spec?.taints).toEqual([inLine]);
      expectBackInService(one);
      expect(await one.world.run(one.node)).toMatchObject({ outcome: 'updated' });
      expect(one.world.annotation(one.node, ANNOTATION.DRAIN_TIMED_OUT)).toBeUndefined();
    });

    it('stays failed when the policy says so', async () => {
      const drain = { timeoutSeconds: 30, onTimeout: 'Fail' } as const;
      const one = await oneNode({ policy: { drain } });
      one.world.failWith('drainNode', one.node, 'DrainTimedOut', blocked, 1);

      expect(await one.world.run(one.node)).toMatchObject({ outcome: 'failed' });

      expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
      expect(one.world.annotation(one.node, ANNOTATION.REASON)).toContain(blocked);
      expectBackInService(one);
    });
  });
});

describe('a node update started by hand', () => {
  async function startedByHand(workflowId: string, input: Partial<NodeUpdateInput>) {
    const options = { workflowId, taskQueue: CLUSTER_QUEUE, args: [input] };
    return temporal.client.workflow.start('updateNode', options);
  }

  it('under another workflow ID names the right one', async () => {
    const { world, node } = await oneNode();
    const handle = await startedByHand('my-update', {
      ...{ node, uid: 'uid', pool: world.pool, config: { name: 'c2', digest: 'd' } },
      ...{ policy: world.policy, disruptionPolicies: {}, found: 'whole' },
      ...{ poolUid: 'uid', poolGeneration: 1 },
    });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'WrongWorkflowId', message: containing(updateNodeId(node)) },
    });
  });

  it('without what a rollout knows is refused', async () => {
    const handle = await startedByHand(updateNodeId('n'), { node: 'n' });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'RefusedRequest', message: containing('started by the rollout') },
    });
  });
});
