import { ANNOTATION } from '../../core/names';
import {
  pauseUpdate,
  resumeUpdate,
  retryNodeUpdate,
  statusQuery,
  type ChildState,
} from '../../workflows/messages';
import type { FakeWorld } from './support/fake-world';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

const AWAY = ['HostUnreachable', 'no host worker'] as const;

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

describe('a rollout that is cancelled', () => {
  it('rolls back every node that can be rolled back, lets the others finish, and remembers it', async () => {
    const world = await temporal.world({ nodes: 4, maxUnavailable: 2 });
    const [first, second] = [world.name(1), world.name(2)];
    const rebooting = world.hold('verifyUpdate', first);
    const draining = world.hold('drainNode', second);
    await world.startRollout();
    await Promise.all([rebooting.reached, draining.reached]);

    await world.rollout().cancel();
    await world.progressUntil(({ state }) => state === 'Cancelling');
    await world.until(() => world.stepsOf(second).includes('releaseNode'));
    rebooting.open();

    await expect(world.rollout().result()).rejects.toMatchObject({
      cause: { name: 'CancelledFailure' },
    });
    expect(world.updatedNodes()).toEqual([first]);
    expect(world.cancelledConfig).toBe('c2');
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
    draining.open();
  });

  it('refuses messages while it ends', async () => {
    const world = await temporal.world({ nodes: 1 });
    const gate = world.hold('verifyUpdate');
    await world.startRollout();
    await gate.reached;
    await world.rollout().cancel();
    await world.progressUntil(({ state }) => state === 'Cancelling');
    const node = world.name(1);

    for (const [message, request] of [
      ['pause', { reason: 'too late' }],
      ['resume', {}],
      ['retryNode', { node }],
      ['skipNode', { node }],
      ['cancelNode', { node }],
      ['retarget', { config: `rendered-${world.pool}-${'0'.repeat(32)}` }],
    ] as const) {
      await expect(
        world.rollout().executeUpdate<unknown, [unknown]>(message, { args: [request] }),
      ).rejects.toMatchObject({
        cause: {
          type: 'RefusedRequest',
          message: `the rollout of pool ${world.pool} is ending: it was cancelled`,
        },
      });
    }

    gate.open();
    await expect(world.rollout().result()).rejects.toThrow();
  });
});

describe('a rollout that was terminated and started again', () => {
  it('adopts the updates that run, in whatever phase, and keeps to the limit', async () => {
    const world = await temporal.world({
      nodes: 4,
      maxUnavailable: 2,
      policy: { prepareAhead: 2 },
    });
    const gates = [
      world.hold('verifyUpdate', world.name(1)),
      world.hold('drainNode', world.name(2)),
      world.hold('prepareUpdate', world.name(4)),
    ];
    await world.startRollout();
    await Promise.all(gates.map(({ reached }) => reached));
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
    await world.rollout().terminate('test');

    await world.startRollout();
    const progress = await world.progressUntil(
      ({ children, slots }) =>
        children.length === 4 && slots.length > 0 && !children.some(({ adopting }) => adopting),
    );

    expect([...progress.slots].sort()).toEqual([world.name(1), world.name(2)]);
    expect(world.cordoned()).toHaveLength(2);
    for (const gate of gates) gate.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 4 });
    for (const node of world.nodeNames()) {
      expect(world.stepsOf(node).filter((step) => step === 'prepareUpdate')).toHaveLength(1);
    }
    expect(world.mostUnavailable).toBe(2);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('knows of a slot whose node the view does not show yet', async () => {
    const world = await temporal.world({ nodes: 3 });
    const cordoning = world.hold('cordonNode', world.name(1));
    await world.startRollout();
    await cordoning.reached;
    await world.rollout().terminate('test');

    await world.startRollout();
    const { slots } = await world.progressUntil(
      (progress) => progress.slots.length > 0 && !progress.children.some((one) => one.adopting),
    );

    expect(slots).toEqual([world.name(1)]);
    cordoning.open();
    await world.rollout().result();
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
  });

  it('does not say that a rollout is completed before it knows which updates run', async () => {
    const world = await temporal.world({ nodes: 1 });
    world.config = 'c1';
    const asking = world.hold('findRunningUpdates');
    await world.startRollout();
    await asking.reached;

    const { state, blocker } = await world.progressUntil(({ machineCount }) => machineCount === 1);

    expect({ state, blocker }).toEqual({
      state: 'Rolling',
      blocker: 'waiting to know which updates of an earlier rollout still run',
    });
    asking.open();
    await expect(world.rollout().result()).resolves.toMatchObject({
      state: 'Completed',
      updated: 1,
    });
  });

  it('gives no slot before it knows which updates run, but prepares nodes meanwhile', async () => {
    const world = await temporal.world({ nodes: 2, policy: { prepareAhead: 2 } });
    const asking = world.hold('findRunningUpdates');
    await world.startRollout();
    await asking.reached;

    const { blocker, slots } = await world.progressUntil(
      ({ children }) => children.length === 2 && children.every(({ stage }) => stage === 'waiting'),
    );

    expect(slots).toEqual([]);
    expect(blocker).toContain('which updates of an earlier rollout still run');
    expect(world.cordoned()).toEqual([]);
    asking.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
    expect(world.mostUnavailable).toBe(1);
  });

  it('tries a node again as it was told, also when its earlier update ends only then', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'disk full', 1);
    const ending = world.hold('discardStaged', node);
    await world.startRollout();
    await ending.reached;
    await world.until(() => world.annotation(node, ANNOTATION.STATE) === 'Degraded');
    await world.rollout().terminate('test');
    const asking = world.hold('findRunningUpdates');
    await world.startRollout();
    await asking.reached;
    await world.progressUntil(({ failed }) => failed.length === 1);

    await world.rollout().executeUpdate(retryNodeUpdate, { args: [{ node }] });
    asking.open();
    await world.progressUntil(({ children }) => children.some(({ adopting }) => !adopting));
    ending.open();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, failed: [] });
    expect(world.stepsOf(node).filter((step) => step === 'applyUpdate')).toHaveLength(2);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('takes up a node whose update was lost with it', async () => {
    const world = await temporal.world({ nodes: 2 });
    const node = world.name(1);
    const gate = world.hold('applyUpdate', node);
    await world.startRollout();
    await gate.reached;
    await world.rollout().terminate('test');
    for (const name of world.nodeNames()) {
      await world
        .update(name)
        .terminate('test')
        .catch(() => undefined);
    }
    gate.open();

    await world.startRollout();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });
});

describe('a host that a lost update left on what does not hold', () => {
  it('is rolled back when the node is drained, and tried again by itself', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.host(node).isLeft = true;

    await world.startRollout();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
    const steps = world.stepsOf(node).filter((step) => !step.startsWith('report '));
    expect(steps.slice(0, 8)).toEqual([
      'prepareUpdate',
      'cordonNode',
      'drainNode',
      'applyUpdate',
      'checkCordon',
      'goBack',
      'verifyBack',
      'awaitNodeReady',
    ]);
    expect(steps.filter((step) => step === 'prepareUpdate')).toHaveLength(2);
    expect(steps.filter((step) => step === 'armReboot')).toHaveLength(1);
    expect(world.host(node).boots).toBe(3);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('is not put back into service when the update that found it is cancelled before', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    const lost = world.hold('drainNode', node);
    await world.startRollout();
    await lost.reached;
    await world.rollout().terminate('test');
    await world.update(node).terminate('test');
    lost.open();
    world.host(node).isLeft = true;
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;

    // The gate stays closed: a drain that ended at the same moment would start the rollback of the host.
    await world.update(node).cancel();

    await expect(world.update(node).result()).rejects.toThrow();
    expect(world.cordoned()).toEqual([node]);
    expect(world.annotation(node, ANNOTATION.CORDONED_BY)).toBeDefined();
    expect(world.host(node).boots).toBe(1);
    gate.open();
    await world.rollout().terminate();
  });
});

/** Its update was lost during the drain; an update for another config is prepared, and gets no slot yet. */
async function foundHalfDone(
  world: FakeWorld,
  { isPutBack = false, refusal }: { isPutBack?: boolean; refusal?: readonly [string, string] } = {},
) {
  const node = world.name(1);
  const lost = world.hold('drainNode', node);
  await world.startRollout();
  await lost.reached;
  await world.rollout().terminate('test');
  await world.update(node).terminate('test');
  lost.open();
  if (isPutBack) world.changeNode(node, { unschedulable: false });
  world.config = 'c3';
  const preparing = world.hold('prepareUpdate', node);
  if (refusal !== undefined) world.failWith('prepareUpdate', node, ...refusal);
  await world.startRollout();
  await preparing.reached;
  const looking = world.hold('selectNodes');
  await world.tell('look again');
  await looking.reached;
  return { node, preparing, looking };
}

describe('a node that an update was to take further that a lost one had left half done', () => {
  it.each([
    ['cordoned', false],
    ['in service again', true],
  ])('and left %s is given back as what it is when it never was targeted', async (_how, isBack) => {
    const world = await temporal.world({ nodes: 1 });
    const { node, preparing, looking } = await foundHalfDone(world, { isPutBack: isBack });
    preparing.open();
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));

    await world.update(node).cancel();

    await expect(world.update(node).result()).rejects.toThrow();
    expect(world.cordoned()).toEqual([]);
    expect(world.node(node).metadata.annotations).toMatchObject({
      [ANNOTATION.CURRENT_CONFIG]: 'c1',
      [ANNOTATION.DESIRED_CONFIG]: 'c1',
      [ANNOTATION.STATE]: 'Done',
    });
    looking.open();
    await world.rollout().terminate();
  });
});

describe('a host that refuses an update, and that a lost one had begun to change', () => {
  const FORBIDDEN = ['ConfigForbidden', 'it may not have the config'] as const;
  const failed = (world: FakeWorld) => world.progressUntil((said) => said.failed.length === 1);

  it.each([['ConfigDrift', 'the disk is not as it says'], FORBIDDEN] as const)(
    'is in service when it has settled that (%s)',
    async (name, why) => {
      const world = await temporal.world({ nodes: 1 });
      const refusal = [name, why] as const;
      const { node, preparing, looking } = await foundHalfDone(world, { refusal });
      preparing.open();
      looking.open();
      await failed(world);

      expect(world.cordoned()).toEqual([]);
      expect(world.annotation(node, ANNOTATION.STATE)).toBe('Degraded');
      expect(world.annotation(node, ANNOTATION.REASON)).toBe(`${name}: ${why}`);
      expect(world.stepsOf(node).filter((step) => step === 'discardStaged')).toHaveLength(1);
      await world.rollout().terminate();
    },
  );

  it('stays cordoned when it has not settled that', async () => {
    const world = await temporal.world({ nodes: 1 });
    const { node, preparing, looking } = await foundHalfDone(world, { refusal: FORBIDDEN });
    world.host(node).isLeft = true;
    preparing.open();
    looking.open();
    await failed(world);

    expect(world.cordoned()).toEqual([node]);
    await world.rollout().terminate();
  });

  it('stays cordoned, and is not asked, when it does not answer', async () => {
    const world = await temporal.world({ nodes: 1 });
    const { node, preparing, looking } = await foundHalfDone(world, { refusal: AWAY });
    preparing.open();
    looking.open();
    await failed(world);

    expect(world.cordoned()).toEqual([node]);
    expect(world.stepsOf(node)).not.toContain('discardStaged');
    await world.rollout().terminate();
  });

  it('is asked once when its update is cancelled before it has answered', async () => {
    const world = await temporal.world({ nodes: 1 });
    const { node, preparing, looking } = await foundHalfDone(world);
    const asking = world.hold('discardStaged', node);

    await world.update(node).cancel();
    await asking.reached;
    expect(world.cordoned()).toEqual([node]);
    asking.open();

    await expect(world.update(node).result()).rejects.toThrow();
    expect(world.cordoned()).toEqual([]);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe('Done');
    expect(world.stepsOf(node).filter((step) => step === 'discardStaged')).toHaveLength(1);
    preparing.open();
    looking.open();
    await world.rollout().terminate();
  });
});

describe('a node update that is terminated from outside', () => {
  it('is noticed; its node keeps the slot and is taken up again', async () => {
    const world = await temporal.world({ nodes: 3 });
    const node = world.name(1);
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;

    await world.update(node).terminate('test');
    gate.open();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 3 });
    expect(world.stepsOf(node).filter((step) => step === 'prepareUpdate')).toHaveLength(2);
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('before its cordon is seen does not free its slot', async () => {
    const world = await temporal.world({ nodes: 2 });
    const node = world.name(1);
    world.freezeView();
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));

    await world.update(node).terminate('test');
    const { slots } = await world.progressUntil(
      ({ children }) => children.find((child) => child.node === node)?.stage !== 'working',
    );

    expect(slots).toEqual([node]);
    expect(world.cordoned()).toEqual([node]);
    world.thawView();
    gate.open();
    await world.rollout().result();
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
  });

  it('is noticed also when it had been adopted, after a while of silence', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;
    await world.rollout().terminate('test');
    await world.startRollout();
    await world.progressUntil(
      ({ slots, children }) => slots.length === 1 && !children[0]?.adopting,
    );

    await world.update(node).terminate('test');
    gate.open();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c2');
    expect(world.leftovers()).toEqual([]);
  });
});

describe('a paused rollout', () => {
  it('finishes the node whose update was terminated, and starts no other', async () => {
    const world = await temporal.world({ nodes: 3 });
    const node = world.name(1);
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;
    await world.rollout().executeUpdate(pauseUpdate, { args: [{ reason: 'change freeze' }] });

    await world.update(node).terminate('test');
    gate.open();
    await world.until(() => world.updatedNodes().includes(node));

    const { state } = await world.progressUntil(({ children }) => children.every(isPreparing));
    expect(state).toBe('Paused');
    expect(world.cordoned()).toEqual([]);
    expect(world.updatedNodes()).toEqual([node]);
    await world.rollout().executeUpdate(resumeUpdate, { args: [{}] });
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 3 });
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('that was lost with its updates finishes their nodes when it is started again', async () => {
    const world = await temporal.world({ nodes: 3 });
    const node = world.name(1);
    const gate = world.hold('applyUpdate', node);
    await world.startRollout();
    await gate.reached;
    await world.rollout().executeUpdate(pauseUpdate, { args: [{ reason: 'change freeze' }] });
    await world.rollout().terminate('test');
    for (const name of world.nodeNames()) {
      await world
        .update(name)
        .terminate('test')
        .catch(() => undefined);
    }
    gate.open();

    await world.startRollout();
    await world.until(() => world.updatedNodes().includes(node));

    await world.progressUntil(({ state, children }) => state === 'Paused' && children.length === 0);
    expect(world.updatedNodes()).toEqual([node]);
    expect(world.cordoned()).toEqual([]);
    expect(world.violations).toEqual([]);
    await world.rollout().terminate('test');
  });
});

describe('a halted rollout', () => {
  it('finishes the node whose update was terminated, and starts no other', async () => {
    const policy = { failureThreshold: 1, prepareAhead: 2 };
    const world = await temporal.world({ nodes: 4, maxUnavailable: 2, policy });
    const [node, failing] = [world.name(1), world.name(2)];
    const gate = world.hold('drainNode', node);
    world.failWith('applyUpdate', failing, 'ApplyFailed', 'disk full');
    await world.startRollout();
    await gate.reached;
    await world.progressUntil(({ state }) => state === 'Halted');

    await world.update(node).terminate('test');
    gate.open();
    await world.until(() => world.updatedNodes().includes(node));

    const { failed } = await world.progressUntil(({ children }) => children.every(isPreparing));
    expect(failed.map((one) => one.node)).toEqual([failing]);
    expect(world.updatedNodes()).toEqual([node]);
    expect(world.violations).toEqual([]);
    expect(world.cordoned()).toEqual([]);
    await world.rollout().cancel();
    await expect(world.rollout().result()).rejects.toThrow();
  });
});

describe('a rollout that waits for a person', () => {
  it('is remembered on its pool from its start to its end', async () => {
    const world = await temporal.world({ nodes: 2, policy: { trigger: 'Manual' } });
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;
    await world.until(() => world.startedConfig === 'c2');

    world.config = 'c3';
    await world.tell('another config');
    await world.until(() => world.startedConfig === 'c3');
    gate.open();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2, config: 'c3' });
    expect(world.startedConfig).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  it('is not remembered any more when it was cancelled', async () => {
    const world = await temporal.world({ nodes: 1, policy: { trigger: 'Manual' } });
    const gate = world.hold('drainNode');
    await world.startRollout();
    await gate.reached;
    await world.until(() => world.startedConfig === 'c2');

    await world.rollout().cancel();
    await world.progressUntil(({ state }) => state === 'Cancelling');
    gate.open();

    await expect(world.rollout().result()).rejects.toThrow();
    expect(world.cancelledConfig).toBe('c2');
    expect(world.startedConfig).toBeUndefined();
  });

  it('is remembered by a later try when the first one has failed for good', async () => {
    const world = await temporal.world({ nodes: 2, policy: { trigger: 'Manual' } });
    world.failWith('markRolloutStarted', undefined, 'ApiRefused', 'denied by a policy', 1);
    const gate = world.hold('drainNode', world.name(2));
    await world.startRollout();
    await gate.reached;

    await world.until(() => world.startedConfig === 'c2');

    gate.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2 });
    expect(world.startedConfig).toBeUndefined();
  });

  it('takes the next config also while its pool has yet to forget the start of the last one', async () => {
    const world = await temporal.world({ nodes: 1, policy: { trigger: 'Manual' } });
    const node = world.name(1);
    await world.startRollout();
    await world.until(() => world.startedConfig === 'c2');
    const forgetting = world.hold('markRolloutStarted');
    await forgetting.reached;
    const { state, blocker } = await world.progressUntil((progress) => progress.updated === 1);
    expect(state).toBe('Completed');
    expect(blocker).toBe('waiting for its pool to forget that it was started');

    const config = `rendered-${world.pool}-3`;
    world.config = config;
    await world.rollout().executeUpdate('retarget', { args: [{ config }] });
    await world.until(() => world.updatedNodes().includes(node));

    forgetting.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ config, updated: 1 });
    expect(world.startedConfig).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  it('writes nothing when the pool is Automatic', async () => {
    const world = await temporal.world({ nodes: 1 });

    await world.startRollout();

    await world.rollout().result();
    expect(world.steps.filter(({ step }) => step === 'markRolloutStarted')).toEqual([]);
  });
});

function isPreparing({ stage }: ChildState): boolean {
  return stage !== 'working';
}

describe('a node that took over what a lost update had written, and goes on no further', () => {
  /** Applied, and neither rebooted nor rolled back; the next update has taken over and waits for its slot. */
  async function takenOver() {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.failWith('armReboot', node, ...AWAY, 1);
    world.failWith('goBack', node, ...AWAY, 1);
    await world.startRollout();
    await world.progressUntil(({ failed }) => failed.length === 1);
    world.healAll();
    const preparing = world.hold('prepareUpdate', node);
    await world.rollout().executeUpdate(retryNodeUpdate, { args: [{ node }] });
    await preparing.reached;
    await world.rollout().executeUpdate(pauseUpdate, { args: [{ reason: 'freeze' }] });
    preparing.open();
    await world.progressUntil(({ children }) => children.some(({ stage }) => stage === 'waiting'));
    expect(world.host(node).applied).toBe('c2');
    return { world, node };
  }
  const cancelled = async ({ world, node }: Awaited<ReturnType<typeof takenOver>>) => {
    await world.rollout().executeUpdate('cancelNode', { args: [{ node, reason: 'not now' }] });
    await world.progressUntil(({ children }) => children.length === 0);
  };

  it('is uncordoned after its host has undone it', async () => {
    const taken = await takenOver();
    const { world, node } = taken;
    const undoing = world.hold('discardStaged', node);
    const end = cancelled(taken);
    await undoing.reached;

    expect(world.cordoned()).toEqual([node]);
    await expect(world.update(node).query(statusQuery)).resolves.toMatchObject({
      blocker: 'the host to undo what it had taken over from an earlier update',
    });
    undoing.open();
    await end;

    expect(world.host(node).applied).toBeUndefined();
    expect(world.cordoned()).toEqual([]);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe('Done');
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
    expect(world.violations).toEqual([]);
  });

  it.each(['is away', 'was rebooted meanwhile'])('stays cordoned when its host %s', async (how) => {
    const taken = await takenOver();
    const { world, node } = taken;
    if (how === 'is away') world.failWith('discardStaged', node, ...AWAY);
    else world.host(node).isLeft = true;

    await cancelled(taken);

    expect(world.host(node).applied).toBe('c2');
    expect(world.cordoned()).toEqual([node]);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe('Degraded');
    expect(world.violations).toEqual([]);
  });
});

it('a new rollout hears from an update that rolls back to which config it was, and counts it as a canary', async () => {
  const world = await temporal.world({ nodes: 2, maxUnavailable: 2, policy: { canaryNodes: 1 } });
  const [first, second] = [world.name(1), world.name(2)];
  const applying = world.hold('applyUpdate', first);
  const goingBack = world.hold('goBack', first);
  await world.startRollout();
  await applying.reached;
  world.config = 'c3';
  await world.tell('another config');
  // The cancellation, which comes shortly after its reason, ends what is held there.
  await goingBack.reached;
  applying.open();

  await world.rollout().terminate('lost');
  await world.startRollout();

  const { children } = await world.progressUntil((progress) =>
    progress.children.some(({ node, cancelling }) => node === first && cancelling !== undefined),
  );
  expect(children.find(({ node }) => node === first)).toMatchObject({ config: 'c2' });
  // The target returns to the config for which the first node is still disturbed.
  world.config = 'c2';
  await world.tell('the config of before');
  await world.progressUntil(
    (progress) =>
      progress.config === 'c2' &&
      progress.children.some(({ node, stage }) => node === second && stage === 'waiting'),
  );
  expect(world.cordoned()).toEqual([first]);
  goingBack.open();
  await world.progressUntil(({ updated }) => updated === 2);
  expect(world.violations).toEqual([]);
});
