import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { ANNOTATION, NodeState, updateNodeId, CLUSTER_QUEUE } from '../../core/names';
import { statusQuery } from '../../workflows/messages';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import type { FakeWorld } from './support/fake-world';
import { aPlan, aRestartPlan } from './support/plans';
import { containing } from './support/containing';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** One node with one slot. */
async function oneNode(options: Parameters<TestTemporal['world']>[0] = {}): Promise<{
  world: FakeWorld;
  node: string;
}> {
  const world = await temporal.world({ nodes: 1, ...options });
  return { world, node: world.name(1) };
}

/** Steps that change something, without reads and status. */
function deeds(world: FakeWorld, node: string): readonly string[] {
  return world
    .stepsOf(node)
    .filter((step) => !step.startsWith('report ') && step !== 'checkCordon');
}

/** The node is in service on its old config, and nothing of the attempt is left. */
function expectBackInService(world: FakeWorld, node: string): void {
  expect(world.cordoned()).toEqual([]);
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.leftovers()).toEqual([]);
  expect(world.violations).toEqual([]);
}

const soon = () => delay(50);

/** `kubectl uncordon`, the mark is removed, pods come, `kubectl cordon`. */
function cordonedAnew(world: FakeWorld, node: string): void {
  world.changeNode(node, { unschedulable: false });
  world.changeNode(node, { annotations: { [ANNOTATION.CORDONED_BY]: null } });
  world.changeNode(node, { unschedulable: true });
}

/** On its old config, under a cordon that is not ours. */
function expectLeftToPerson(world: FakeWorld, node: string): void {
  expect(world.node(node).spec?.unschedulable).toBe(true);
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.leftovers()).toEqual([]);
  expect(world.violations).toEqual([]);
}

describe('the update of a node', () => {
  it('prepares before it disturbs, verifies before it completes', async () => {
    const { world, node } = await oneNode();

    await (await world.startRollout()).result();

    expect(deeds(world, node)).toEqual([
      'prepareUpdate',
      'cordonNode',
      'drainNode',
      'applyUpdate',
      'armReboot',
      'verifyUpdate',
      'awaitNodeReady',
      ...['completeNode', 'commitUpdate'].sort(
        (a, b) => deeds(world, node).indexOf(a) - deeds(world, node).indexOf(b),
      ),
    ]);
    const report = await world.update(node).result();
    expect(report).toMatchObject({ node, config: 'c2', outcome: 'updated', disruption: 'reboot' });
    expect(report.phases.map(({ phase }) => phase)).toEqual([
      'Preparing',
      'WaitingForSlot',
      'Cordoning',
      'Draining',
      'Applying',
      'Rebooting',
      'Verifying',
      'Completing',
    ]);
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('neither cordons nor drains for a restart of a service', async () => {
    const { world, node } = await oneNode({ plan: aRestartPlan() });

    await (await world.startRollout()).result();

    expect(deeds(world, node)).toContain('performServiceActions');
    expect(deeds(world, node)).not.toContain('drainNode');
    expect(deeds(world, node)).not.toContain('armReboot');
    await expect(world.update(node).result()).resolves.toMatchObject({ disruption: 'services' });
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('touches no service when no change asks for it', async () => {
    const plan = aPlan({ actions: [{ type: 'None' }], drain: false, reboot: false });
    const { world, node } = await oneNode({ plan });

    await (await world.startRollout()).result();

    expect(deeds(world, node)).not.toContain('performServiceActions');
    expect(world.updatedNodes()).toEqual([node]);
  });

  it('does not drain a node that the cordon found empty', async () => {
    const { world, node } = await oneNode();
    world.withoutPods = true;

    await (await world.startRollout()).result();

    expect(deeds(world, node)).not.toContain('drainNode');
    const { phases } = await world.update(node).result();
    expect(phases.map(({ phase }) => phase)).not.toContain('Draining');
    expect(world.violations).toEqual([]);
  });

  it.each(['cordonNode', 'awaitNodeReady', 'completeNode'])(
    'makes an activity that a person sees of a %s that does not succeed at once',
    async (step) => {
      const { world, node } = await oneNode();
      world.failWith(step, node, 'ApiUnavailable', 'connection refused', 1);

      await (await world.startRollout()).result();

      const { events } = await world.update(node).fetchHistory();
      const scheduled = (events ?? []).flatMap(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
      );
      expect(scheduled).toContain(step);
      expect(world.updatedNodes()).toEqual([node]);
    },
  );

  it('only says so when the host is on the config already', async () => {
    const { world, node } = await oneNode();
    world.host(node).config = 'c2';

    await (await world.startRollout()).result();

    expect(deeds(world, node)).toEqual(['prepareUpdate', 'completeNode']);
    expect(world.updatedNodes()).toEqual([node]);
  });

  it('shows what it is in search attributes, and how it ended', async () => {
    const { world, node } = await oneNode();
    await (await world.startRollout()).result();

    const { typedSearchAttributes, raw } = await world.update(node).describe();

    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.pool)).toBe(world.pool);
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.node)).toBe(node);
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.config)).toBe('c2');
    expect(typedSearchAttributes.get(SEARCH_ATTRIBUTE.outcome)).toBe('updated');
    expect(raw.executionConfig?.userMetadata?.summary?.data).toBeDefined();
  });

  it('says what it does and waits for', async () => {
    const { world, node } = await oneNode();
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;

    const status = await world.update(node).query(statusQuery);

    expect(status).toMatchObject({
      node,
      phase: 'Draining',
      summary: 'reboot: kernel arguments changed (+nosmt)',
      blocker: 'pods to leave the node',
      pastPointOfNoReturn: false,
    });
    gate.open();
    await world.rollout().result();
  });

  it.each([
    ['goBack', 'the host to go back to its old config'],
    ['verifyBack', 'the host to verify its old config'],
    ['awaitNodeReady', 'the node to be Ready on its old config'],
    ['releaseNode', 'its Node to be given back'],
  ])('says what it waits for during its rollback: %s', async (step, blocker) => {
    const { world, node } = await oneNode({ policy: { failureThreshold: 1 } });
    const gate = world.hold(step, node);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'operation not permitted');
    await world.startRollout();
    await gate.reached;

    const status = await world.update(node).query(statusQuery);

    expect(status).toMatchObject({ phase: 'GoingBack', blocker });
    gate.open();
    await expect(world.update(node).result()).rejects.toBeInstanceOf(WorkflowFailedError);
  });

  it('says that it waits for the node to be Ready after a service was restarted', async () => {
    const plan = aPlan({
      reboot: false,
      drain: false,
      actions: [{ type: 'Restart', restart: { serviceName: 'x.service' } }],
    });
    const { world, node } = await oneNode({ plan });
    const gate = world.hold('awaitNodeReady', node);
    await world.startRollout();
    await gate.reached;

    const status = await world.update(node).query(statusQuery);

    expect(status).toMatchObject({ phase: 'Verifying', blocker: 'the node to be Ready' });
    gate.open();
    await world.rollout().result();
  });

  it('survives that its phase cannot be shown', async () => {
    const { world, node } = await oneNode();
    world.failWith('report Applying', node, 'Unreconcilable', 'cannot be shown');

    await (await world.startRollout()).result();

    expect(world.updatedNodes()).toEqual([node]);
  });

  it('tries again what fails for a moment', async () => {
    const { world, node } = await oneNode();
    world.failWith('prepareUpdate', node, 'ConfigFetchFailed', 'connection refused', 1);

    await (await world.startRollout()).result();

    expect(deeds(world, node).filter((step) => step === 'prepareUpdate')).toHaveLength(2);
    expect(world.updatedNodes()).toEqual([node]);
  });
});

describe('a node update that fails', () => {
  const cases: readonly {
    readonly at: string;
    readonly name: string;
    readonly undone: readonly string[];
    readonly plan?: ReturnType<typeof aPlan>;
    /** Attempts that fail; absent = one. */
    readonly times?: number;
  }[] = [
    { at: 'prepareUpdate', name: 'DigestMismatch', undone: ['releaseNode'] },
    { at: 'drainNode', name: 'ObjectNotFound', undone: ['discardStaged', 'releaseNode'] },
    {
      at: 'applyUpdate',
      name: 'ApplyFailed',
      undone: ['discardStaged', 'goBack', 'releaseNode', 'verifyBack'],
    },
    { at: 'armReboot', name: 'OrderRefused', undone: ['goBack', 'releaseNode', 'verifyBack'] },
    {
      at: 'verifyUpdate',
      name: 'WrongDeployment',
      undone: ['goBack', 'releaseNode', 'verifyBack'],
    },
    {
      at: 'awaitNodeReady',
      name: 'NodeNotReady',
      undone: ['goBack', 'releaseNode', 'verifyBack'],
      // The check inside the workflow task, and the wait after it.
      times: 2,
    },
    {
      at: 'performServiceActions',
      name: 'ApplyFailed',
      undone: ['discardStaged', 'goBack', 'releaseNode', 'verifyBack'],
      plan: aRestartPlan(),
    },
  ];

  it('names what the rollback has left of somebody else', async () => {
    const { world, node } = await oneNode();
    world.host(node).kept = ['/etc/added'];
    world.failWith('applyUpdate', node, 'ApplyFailed', 'the disk is full');
    await world.startRollout();

    await world.progressUntil((progress) => progress.failed.length === 1);

    expect(world.annotation(node, ANNOTATION.REASON)).toContain(
      'the disk is full; what somebody else has put into /etc/added stays there',
    );
    await world.rollout().terminate();
  });

  it.each(cases)(
    'at $at takes back what was done',
    async ({ at, name, undone, plan, times = 1 }) => {
      const { world, node } = await oneNode(plan === undefined ? {} : { plan });
      world.failWith(at, node, name, 'something is wrong', times);
      await world.startRollout();

      const { failed } = await world.progressUntil((progress) => progress.failed.length === 1);

      expect(failed).toEqual([{ node, reason: containing('something is wrong') }]);
      const steps = deeds(world, node);
      const after = new Set(steps.slice(steps.indexOf(at) + 1));
      expect([...after].filter((step) => step !== 'awaitNodeReady').sort()).toEqual(undone);
      expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
      expect(world.annotation(node, ANNOTATION.REASON)).toContain(`${name}: something is wrong`);
      expectBackInService(world, node);
      await expect(world.update(node).result()).rejects.toMatchObject({
        cause: { type: name, message: `${node}: something is wrong` },
      });
      await world.rollout().terminate();
    },
  );

  it('rolls back, without a reboot, when a person uncordons the node after its drain', async () => {
    const { world, node } = await oneNode();
    const gate = world.hold('applyUpdate', node);
    await world.startRollout();
    await gate.reached;
    world.changeNode(node, { unschedulable: false });
    gate.open();

    const { failed } = await world.progressUntil((progress) => progress.failed.length === 1);

    expect(failed).toEqual([{ node, reason: containing(`node ${node} was uncordoned`) }]);
    expect(deeds(world, node)).not.toContain('armReboot');
    expect(world.annotation(node, ANNOTATION.REASON)).toContain('UncordonedByUser');
    expectBackInService(world, node);
    await world.rollout().terminate();
  });

  it('rolls back, without a reboot, when a person uncordons and cordons the node after its drain', async () => {
    const { world, node } = await oneNode();
    const gate = world.hold('applyUpdate', node);
    await world.startRollout();
    await gate.reached;
    cordonedAnew(world, node);
    gate.open();

    await world.until(() => world.stepsOf(node).includes('releaseNode'));

    expect(deeds(world, node)).not.toContain('armReboot');
    expect(deeds(world, node)).toContain('goBack');
    expectLeftToPerson(world, node);
    await world.rollout().terminate();
  });

  describe('on a node to which a pod is bound late', () => {
    /** A late pod is bound to the node, which is cordoned and drained while its host writes. */
    async function boundLate(
      meanwhile: (world: FakeWorld, node: string) => void = () => undefined,
    ): Promise<{ world: FakeWorld; node: string }> {
      const { world, node } = await oneNode();
      const applying = world.hold('applyUpdate', node);
      await world.startRollout();
      await applying.reached;
      world.bindLate(node);
      meanwhile(world, node);
      applying.open();
      return { world, node };
    }

    it('drains once more before its reboot', async () => {
      const { world, node } = await boundLate();
      const draining = world.hold('drainNode', node);
      await draining.reached;
      const { phase, blocker } = await world.update(node).query(statusQuery);
      expect({ phase, blocker }).toEqual({
        phase: 'Draining',
        blocker: 'pods that came since its drain to leave the node',
      });
      draining.open();

      await world.rollout().result();

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('applyUpdate'), done.indexOf('verifyUpdate'))).toEqual([
        'applyUpdate',
        'drainNode',
        'armReboot',
      ]);
      expect(done.filter((step) => step === 'armReboot')).toHaveLength(1);
      expect(world.updatedNodes()).toEqual([node]);
      expect(world.violations).toEqual([]);
    });

    it('rolls back, without a reboot, when the pod does not go, and is tried again', async () => {
      const blocked = 'node was not drained within 30 s: pod shop/till-0: its budget';
      const inLine = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
      const { world, node } = await boundLate((before, name) => {
        before.failWith('drainNode', name, 'DrainTimedOut', blocked, 1);
        before.changeNode(name, { taints: [inLine] });
      });
      const releasing = world.hold('releaseNode', node);
      await releasing.reached;

      const done = deeds(world, node);
      expect(done.slice(done.lastIndexOf('drainNode'))).toEqual(
        expect.arrayContaining(['goBack', 'verifyBack', 'releaseNode']),
      );
      expect(done).not.toContain('armReboot');
      expect(world.host(node).failed).toBeUndefined();
      // Held, so that it is not cordoned again before the check.
      const again = world.hold('prepareUpdate', node);
      releasing.open();
      await again.reached;

      const { failed } = await world.progressUntil(({ children }) => children.length === 1);
      expect(failed).toEqual([]);
      expect(world.annotation(node, ANNOTATION.STATE)).not.toBe(NodeState.DEGRADED);
      expectBackInService(world, node);
      expect(world.node(node).spec?.taints).toEqual([inLine]);
      await world.rollout().terminate();
      again.open();
    });

    it('can be cancelled in that drain', async () => {
      const { world, node } = await boundLate();
      const draining = world.hold('drainNode', node);
      await draining.reached;
      await world.update(node).cancel();
      draining.open();

      await world.until(() => world.stepsOf(node).includes('releaseNode'));

      expect(deeds(world, node)).not.toContain('armReboot');
      expectBackInService(world, node);
      await world.rollout().terminate();
    });

    it.each([
      ['drains once more before it boots back', { ready: true }, ['drainNode', 'goBack']],
      ['boots back at once when the machine has fallen over', { ready: false }, ['goBack']],
    ] as const)('%s', async (_, change, expected) => {
      const { world, node } = await oneNode();
      const verifying = world.hold('awaitNodeReady', node);
      world.failWith('awaitNodeReady', node, 'VerifyFailed', 'fell over again', 1);
      await world.startRollout();
      await verifying.reached;
      world.bindLate(node);
      world.changeNode(node, change);
      verifying.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady') + 1, done.indexOf('verifyBack'))).toEqual(
        expected,
      );
      expectBackInService(world, node);
      await world.rollout().terminate();
    });
  });

  describe('after its reboot, on a node that a person has uncordoned', () => {
    async function uncordonedAfterReboot(): Promise<{ world: FakeWorld; node: string }> {
      const { world, node } = await oneNode();
      const verifying = world.hold('awaitNodeReady', node);
      world.failWith('awaitNodeReady', node, 'VerifyFailed', 'fell over again', 1);
      await world.startRollout();
      await verifying.reached;
      world.changeNode(node, { unschedulable: false });
      verifying.open();
      return { world, node };
    }

    it('cordons and drains again before it boots back', async () => {
      const { world, node } = await uncordonedAfterReboot();
      const draining = world.hold('drainNode', node);
      await draining.reached;
      const { phase, blocker } = await world.update(node).query(statusQuery);
      expect({ phase, blocker }).toEqual({
        phase: 'GoingBack',
        blocker: 'pods to leave the node once more, before it boots back',
      });
      expect(world.cordoned()).toEqual([node]);
      draining.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady'), done.indexOf('goBack'))).toEqual([
        'awaitNodeReady',
        'cordonNode',
        'drainNode',
      ]);
      expectBackInService(world, node);
      await world.rollout().terminate();
    });

    it('cordons and drains again before a lost update is booted back', async () => {
      const { world, node } = await oneNode();
      world.host(node).isLeft = true;
      const applying = world.hold('applyUpdate', node);
      await world.startRollout();
      await applying.reached;
      world.changeNode(node, { unschedulable: false });
      applying.open();

      await world.until(() => world.host(node).boots > 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('applyUpdate'), done.indexOf('verifyBack'))).toEqual([
        'applyUpdate',
        'cordonNode',
        'drainNode',
        'goBack',
      ]);
      await world.rollout().terminate();
    });

    it('drains under the cordon of a person, and leaves that where it is', async () => {
      const { world, node } = await oneNode();
      const verifying = world.hold('awaitNodeReady', node);
      world.failWith('awaitNodeReady', node, 'VerifyFailed', 'fell over again', 1);
      await world.startRollout();
      await verifying.reached;
      cordonedAnew(world, node);
      verifying.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady'), done.indexOf('goBack'))).toEqual([
        'awaitNodeReady',
        'drainNode',
      ]);
      expectLeftToPerson(world, node);
      await world.rollout().terminate();
    });

    it('rolls back also when the person cordons it a moment before its update does', async () => {
      const { world, node } = await uncordonedAfterReboot();
      const cordoning = world.hold('cordonNode', node);
      await cordoning.reached;
      cordonedAnew(world, node);
      cordoning.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady'), done.indexOf('goBack'))).toEqual([
        'awaitNodeReady',
        'cordonNode',
        'drainNode',
      ]);
      expectLeftToPerson(world, node);
      await world.rollout().terminate();
    });

    it('begins anew when it is uncordoned in that drain', async () => {
      const { world, node } = await uncordonedAfterReboot();
      const draining = world.hold('drainNode', node);
      await draining.reached;
      world.changeNode(node, { unschedulable: false });
      draining.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady'), done.indexOf('goBack'))).toEqual([
        'awaitNodeReady',
        ...['cordonNode', 'drainNode'],
        ...['cordonNode', 'drainNode'],
      ]);
      expectBackInService(world, node);
      await world.rollout().terminate();
    });

    it('gives up when it is uncordoned in every drain', async () => {
      const { world, node } = await uncordonedAfterReboot();
      let draining = world.hold('drainNode', node);
      for (const next of [true, true, true, true, false]) {
        await draining.reached;
        world.changeNode(node, { unschedulable: false });
        const done = draining;
        if (next) draining = world.hold('drainNode', node);
        done.open();
      }

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done).not.toContain('goBack');
      // One of them before its reboot.
      expect(done.filter((step) => step === 'drainNode')).toHaveLength(6);
      expect(world.annotation(node, ANNOTATION.REASON)).toContain('UncordonedByUser');
      expect(world.cordoned()).toEqual([node]);
      await world.rollout().terminate();
    });

    it('rolls back also in another pool', async () => {
      const { world, node } = await oneNode();
      const other = await temporal.world({ nodes: 0, beside: world });
      const verifying = world.hold('awaitNodeReady', node);
      world.failWith('awaitNodeReady', node, 'VerifyFailed', 'fell over again', 1);
      await world.startRollout();
      await verifying.reached;
      world.changeNode(node, { unschedulable: false });
      world.moveNode(node, other);
      verifying.open();

      await world.until(() => world.stepsOf(node).includes('releaseNode'));

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady'), done.indexOf('verifyBack'))).toEqual([
        'awaitNodeReady',
        'cordonNode',
        'drainNode',
        'goBack',
      ]);
      expect(world.violations).toEqual([]);
      await world.rollout().terminate();
    });

    it('leaves the machine as it is when its pods do not go, cordoned, with the reason', async () => {
      const { world, node } = await uncordonedAfterReboot();
      const blocked = 'node was not drained within 30 s: pod shop/till-0: its budget';
      world.failWith('drainNode', node, 'DrainTimedOut', blocked, 1);

      await world.progressUntil(({ failed }) => failed.length === 1);

      expect(deeds(world, node)).not.toContain('goBack');
      expect(world.cordoned()).toEqual([node]);
      expect(world.annotation(node, ANNOTATION.REASON)).toContain(blocked);
      expect(world.violations).toEqual([]);
      await world.rollout().terminate();
    });

    it('drains nothing from a machine that fell over', async () => {
      const { world, node } = await oneNode();
      const verifying = world.hold('awaitNodeReady', node);
      world.failWith('awaitNodeReady', node, 'VerifyFailed', 'not Ready', 1);
      await world.startRollout();
      await verifying.reached;
      world.changeNode(node, { unschedulable: false, ready: false });
      verifying.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      const done = deeds(world, node);
      expect(done.slice(done.indexOf('awaitNodeReady') + 1)[0]).toBe('goBack');
      expectBackInService(world, node);
      await world.rollout().terminate();
    });

    it('rolls back all the same when nobody can say whether it is cordoned', async () => {
      const { world, node } = await oneNode();
      const verifying = world.hold('awaitNodeReady', node);
      world.failWith('awaitNodeReady', node, 'VerifyFailed', 'fell over again', 1);
      await world.startRollout();
      await verifying.reached;
      world.failWith('checkCordon', node, 'ApiRefused', 'the look was refused', 1);
      verifying.open();

      await world.progressUntil(({ failed }) => failed.length === 1);

      expect(deeds(world, node)).toContain('goBack');
      expectBackInService(world, node);
      await world.rollout().terminate();
    });
  });

  it('leaves its node to a person who took over its cordon during the drain, and reports no failure', async () => {
    const { world, node } = await oneNode();
    world.failWith('drainNode', node, 'CordonedByUser', `node ${node} was cordoned anew`, 1);

    // It is not cordoned any more, so it is retried: a second drain.
    await (await world.startRollout()).result();

    const done = deeds(world, node);
    expect(done.slice(0, done.indexOf('releaseNode'))).not.toContain('applyUpdate');
    expect(done).not.toContain('goBack');
    expect(done.filter((step) => step === 'drainNode')).toHaveLength(2);
    expect(world.annotation(node, ANNOTATION.REASON)).toBe('');
    expect(world.updatedNodes()).toEqual([node]);
    expect(world.violations).toEqual([]);
  });

  it('ends as cancelled also when a step sees the hold of a person before it is told', async () => {
    const { world, node } = await oneNode();
    const [draining, holding] = [world.hold('drainNode', node), world.hold('holdNode', node)];
    await world.startRollout();
    await draining.reached;
    const asked = world
      .rollout()
      .executeUpdate('cancelNode', { args: [{ node, reason: 'wrong' }] });
    await holding.reached;
    world.changeNode(node, { annotations: { [ANNOTATION.HELD_FOR]: 'c2' } });

    draining.open();
    const toBeTold = `${world.rolloutId} to say that a person holds the node`;
    const blocker = async () => (await world.update(node).query(statusQuery)).blocker;
    for (let looks = 0; looks < 40 && (await blocker()) !== toBeTold; looks += 1) await soon();
    expect(await blocker()).toBe(toBeTold);
    holding.open();
    await asked;

    const ended = await world
      .update(node)
      .result()
      .catch((thrown: unknown) => (thrown as Error).cause);
    expect(ended).toBeInstanceOf(CancelledFailure);
    expect(await world.progress()).toMatchObject({
      held: [{ node, reason: 'cancelled: wrong' }],
      failed: [],
    });
    expect(deeds(world, node)).not.toContain('applyUpdate');
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
    await world.rollout().terminate();
  });

  it('says what it waits for when its host drops a staged deployment after the uncordon', async () => {
    const { world, node } = await oneNode();
    world.failWith('cordonNode', node, 'CordonedByUser', 'a person cordoned it', 1);
    const releasing = world.hold('releaseNode', node);
    const dropping = world.hold('discardStaged', node);
    const blocker = async () => (await world.update(node).query(statusQuery)).blocker;
    await world.startRollout();

    await Promise.all([releasing.reached, dropping.reached]);
    expect(await blocker()).toBe('its Node to be given back');

    releasing.open();
    const dropped = 'the host to drop what it has staged';
    for (let asked = 0; asked < 40 && (await blocker()) !== dropped; asked += 1) await soon();
    expect(await blocker()).toBe(dropped);
    dropping.open();
    await world.rollout().terminate();
  });

  it('names what each step of the host waits for', async () => {
    const { world, node } = await oneNode();
    const blockers: Record<string, string | undefined> = {};
    const steps = ['prepareUpdate', 'applyUpdate', 'armReboot', 'verifyUpdate', 'commitUpdate'];
    const gates = steps.map((step) => [step, world.hold(step, node)] as const);
    await world.startRollout();
    for (const [step, gate] of gates) {
      await gate.reached;
      blockers[step] = (await world.update(node).query(statusQuery)).blocker;
      gate.open();
    }
    expect(blockers).toEqual({
      prepareUpdate: 'the host to prepare it',
      applyUpdate: 'the host to write its files',
      armReboot: 'the host to begin its reboot',
      verifyUpdate: 'the machine to come back',
      commitUpdate: 'the host to make it its current config',
    });
    await world.rollout().result();
  });

  it('leaves a node that cannot be changed in place untouched', async () => {
    const reason = 'partition table changed';
    const { world, node } = await oneNode({
      plan: aPlan({ reconcilable: { ok: false, reason } }),
    });
    await world.startRollout();

    await world.progressUntil((progress) => progress.failed.length === 1);

    expect(deeds(world, node)).not.toContain('cordonNode');
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.UNRECONCILABLE);
    expectBackInService(world, node);
    await world.rollout().terminate();
  });

  it('keeps the cordon, with the reason, only when the host cannot be rolled back', async () => {
    const { world, node } = await oneNode();
    world.failWith('verifyUpdate', node, 'WrongDeployment', 'booted the old one');
    world.failWith('goBack', node, 'RollbackFailed', 'no previous deployment');
    await world.startRollout();

    await world.progressUntil((progress) => progress.failed.length === 1);

    expect(world.cordoned()).toEqual([node]);
    expect(world.annotation(node, ANNOTATION.REASON)).toContain('no previous deployment');
    await expect(world.update(node).result()).rejects.toMatchObject({
      cause: { type: 'RollbackFailed' },
    });
    expect(world.violations).toEqual([]);
    await world.rollout().terminate();
  });

  it('names a machine that does not come back from its reboot', async () => {
    const { world, node } = await oneNode({ policy: { rebootTimeoutSeconds: 2 } });
    world.failWith('verifyUpdate', node, 'NotYetRebooted', 'same boot ID');
    await world.startRollout();

    await world.progressUntil((progress) => progress.failed.length === 1);

    await expect(world.update(node).result()).rejects.toMatchObject({
      cause: { type: 'NotYetRebooted', message: containing('same boot ID') },
    });
    expectBackInService(world, node);
    await world.rollout().terminate();
  });

  it('names a host that does not answer, and leaves its node alone', async () => {
    const { world } = await oneNode({ policy: { reconnectSeconds: 1 } });
    const node = world.addNodeWithoutHost();
    await world.startRollout();

    const { failed } = await world.progressUntil((progress) => progress.failed.length === 1);

    expect(failed).toEqual([{ node, reason: containing('did not pick up') }]);
    await expect(world.update(node).result()).rejects.toMatchObject({
      cause: { type: 'HostUnreachable' },
    });
    expect(deeds(world, node)).toEqual(['releaseNode']);
    await world.rollout().terminate();
  });

  it('leaves a node alone that a person cordoned in the meantime, and calls it no failure', async () => {
    const { world, node } = await oneNode();
    const gate = world.hold('cordonNode', node);
    await world.startRollout();
    await gate.reached;
    world.changeNode(node, { unschedulable: true, annotations: {} });
    gate.open();

    const progress = await world.progressUntil(({ blocked }) => blocked.length === 1);

    expect(progress.failed).toEqual([]);
    expect(progress.blocked[0]?.reason).toContain('cordoned by a person');
    expect(deeds(world, node)).not.toContain('drainNode');
    world.changeNode(node, { unschedulable: false });
    await world.tell('uncordoned');
    await world.rollout().result();
    expect(world.violations).toEqual([]);
  });
});

/** Whether the server knew the end of one step when the update scheduled the other. */
async function isOverBefore(
  { world, node }: { readonly world: FakeWorld; readonly node: string },
  [step, next]: readonly [string, string],
): Promise<boolean> {
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

describe('a node update that is cancelled', () => {
  it.each([
    ['cordonNode', undefined],
    ['cordonNode', 'ApiUnavailable'],
    ['cordonNode', 'ApiRefused'],
    ['drainNode', undefined],
  ])(
    'in the middle of %s, which ends with %s, gives its node back after that',
    async (at, failure) => {
      const { world, node } = await oneNode();
      const gate = world.hold(at, node);
      // The next step after such a cordon would be the host's.
      world.withoutPods = at === 'cordonNode';
      if (failure !== undefined) world.failWith(at, node, failure, 'something is wrong');
      await world.startRollout();
      await gate.reached;

      await world.update(node).cancel();
      // An update that answers has received it.
      await world.update(node).query(statusQuery);
      gate.open();

      await expect(world.update(node).result()).rejects.toMatchObject({
        cause: { name: 'CancelledFailure' },
      });
      await world.progressUntil((progress) => progress.held.length === 1);
      expect(await isOverBefore({ world, node }, [at, 'releaseNode'])).toBe(true);
      expect(deeds(world, node)).not.toContain('goBack');
      expectBackInService(world, node);
      await world.rollout().terminate();
    },
  );

  it.each(['prepareUpdate', 'drainNode', 'applyUpdate'])(
    'at %s takes back what was done',
    async (at) => {
      const { world, node } = await oneNode();
      const gate = world.hold(at, node);
      await world.startRollout();
      await gate.reached;

      await world.update(node).cancel();

      const error = await world
        .update(node)
        .result()
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(WorkflowFailedError);
      expect((error as WorkflowFailedError).cause?.name).toBe('CancelledFailure');
      await world.progressUntil((progress) => progress.held.length === 1);
      expect(deeds(world, node)).not.toContain('armReboot');
      expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
      expectBackInService(world, node);
      gate.open();
      await world.rollout().terminate();
    },
  );

  it('while its host prepares drops what the host stages all the same', async () => {
    const { world, node } = await oneNode();
    const gate = world.hold('prepareUpdate', node);
    await world.startRollout();
    await gate.reached;

    await world.update(node).cancel();
    await world.progressUntil((progress) => progress.held.length === 1);

    expect(deeds(world, node)).toContain('discardStaged');
    gate.open();
    await world.rollout().terminate();
  });

  it('while it waits for its slot costs the node nothing', async () => {
    const world = await temporal.world({ nodes: 2 });
    const [first, second] = [world.name(1), world.name(2)];
    const gate = world.hold('drainNode', first);
    await world.startRollout();
    await gate.reached;
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
    const drop = world.hold('discardStaged', second);

    await world.update(second).cancel();
    await drop.reached;
    await expect(world.update(second).query(statusQuery)).resolves.toMatchObject({
      blocker: 'the host to drop what it has staged',
    });
    drop.open();
    await world.progressUntil(({ held }) => held.length === 1);

    await world.until(() => world.stepsOf(second).includes('holdNode'));
    expect(deeds(world, second)).toEqual(['prepareUpdate', 'discardStaged', 'holdNode']);
    gate.open();
    await world.progressUntil(({ updated }) => updated === 1);
    expect(world.leftovers()).toEqual([]);
    await world.rollout().terminate();
  });

  it.each(['armReboot', 'verifyUpdate', 'awaitNodeReady', 'completeNode', 'commitUpdate'])(
    'at %s, past the point of no return, finishes first',
    async (at) => {
      const { world, node } = await oneNode();
      const gate = world.hold(at, node);
      await world.startRollout();
      await gate.reached;

      await world.update(node).cancel();
      gate.open();

      await expect(world.update(node).result()).resolves.toMatchObject({ outcome: 'updated' });
      await world.rollout().result();
      expect(world.updatedNodes()).toEqual([node]);
      expect(world.leftovers()).toEqual([]);
    },
  );
});

describe('a node update started by hand', () => {
  it('under another workflow ID names the right one', async () => {
    const handle = await temporal.client.workflow.start('updateNode', {
      workflowId: 'my-update',
      taskQueue: CLUSTER_QUEUE,
      args: [
        {
          ...{ node: 'n', pool: 'p', config: { name: 'c', digest: 'd' }, policy: {} },
          ...{ disruptionPolicies: {}, reportTo: 'pool-rollout/p' },
        },
      ],
    });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'WrongWorkflowId', message: containing('update-node/n') },
    });
  });

  it('without a rollout is refused', async () => {
    const handle = await temporal.client.workflow.start('updateNode', {
      workflowId: updateNodeId('n'),
      taskQueue: CLUSTER_QUEUE,
      args: [{ node: 'n' }],
    });

    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'RefusedRequest', message: containing('started by the rollout') },
    });
  });
});
