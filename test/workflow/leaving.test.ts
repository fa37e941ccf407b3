import { WorkflowFailedError } from '@temporalio/client';
import { ANNOTATION } from '../../core/names';
import type { FakeWorld } from './support/fake-world';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

async function failureOf(world: FakeWorld, node: string): Promise<string | null | undefined> {
  const error: unknown = await world
    .update(node)
    .result()
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof WorkflowFailedError)) throw new Error(`not failed: ${String(error)}`);
  return (error.cause as { type?: string | null } | undefined)?.type;
}

describe('a node that is deleted during its update', () => {
  it.each([
    'prepareUpdate',
    'cordonNode',
    'drainNode',
    'applyUpdate',
    'armReboot',
    'verifyUpdate',
    'awaitNodeReady',
    'completeNode',
  ])('frees its slot at once, and its update ends with the reason: %s', async (step) => {
    const world = await temporal.world({ nodes: 3 });
    const [first, second, third] = [world.name(1), world.name(2), world.name(3)];
    // Work in progress there never ends by itself.
    const gate = world.hold(step, first);
    await world.startRollout();
    await gate.reached;

    world.deleteNode(first);
    await world.tell(`node ${first} is gone`);
    const result = await world.rollout().result();

    expect(await failureOf(world, first)).toBe('NodeDeleted');
    expect(world.stepsOf(first)).not.toContain('goBack');
    expect(world.stepsOf(first)).not.toContain('releaseNode');
    expect(result).toMatchObject({ state: 'Completed', machineCount: 2, updated: 2, failed: [] });
    expect(result.reports.find(({ node }) => node === first)).toMatchObject({
      ...{ outcome: 'cancelled', failure: 'NodeDeleted' },
    });
    expect(world.updatedNodes()).toEqual([second, third]);
    expect(world.mostUnavailable).toBe(1);
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
    gate.open();
  });

  it.each([
    ['is being cancelled', (world: FakeWorld) => world.rollout().cancel()],
    [
      'ends with its pool',
      async (world: FakeWorld) => {
        world.exists = false;
        await world.tell('the pool is gone');
      },
    ],
  ])('is waited for no longer by a rollout that %s', async (_how, end) => {
    const world = await temporal.world({ nodes: 2 });
    const first = world.name(1);
    // Past its point of no return, and the machine never comes back.
    const gate = world.hold('verifyUpdate', first);
    await world.startRollout();
    await gate.reached;
    await end(world);
    await world.progressUntil(({ state }) => state === 'Cancelling');

    world.deleteNode(first);
    await world.tell(`node ${first} is gone`);

    await expect(world.rollout().result()).rejects.toThrow();
    expect(await failureOf(world, first)).toBe('NodeDeleted');
    expect(world.stepsOf(first)).not.toContain('goBack');
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
    gate.open();
  });

  it('is forgotten while it waits for its slot', async () => {
    const world = await temporal.world({ nodes: 3 });
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await world.progressUntil(({ children }) =>
      children.some(({ node, stage }) => node === world.name(2) && stage === 'waiting'),
    );

    world.deleteNode(world.name(2));
    await world.tell('a node is gone');

    expect(await failureOf(world, world.name(2))).toBe('NodeDeleted');
    expect(world.stepsOf(world.name(2))).not.toContain('cordonNode');
    gate.open();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2, machineCount: 2 });
    expect(world.violations).toEqual([]);
  });

  it('is found out by its own next step, too', async () => {
    const world = await temporal.world({ nodes: 2 });
    const gate = world.hold('prepareUpdate', world.name(1));
    await world.startRollout();
    await gate.reached;
    // The rollout gets no signal, and has nothing to wait for.
    world.deleteNode(world.name(1));
    gate.open();

    expect(await failureOf(world, world.name(1))).toBe('NodeDeleted');
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, failed: [] });
  });

  it('does not keep a slot that a broken host left behind', async () => {
    const world = await temporal.world({ nodes: 2 });
    const first = world.name(1);
    world.failWith('applyUpdate', first, 'ApplyFailed', 'disk full');
    world.failWith('goBack', first, 'RollbackFailed', 'disk still full');
    // The view never shows the cordon of the node that stays out of service.
    world.freezeView();
    await world.startRollout();
    await world.progressUntil(({ reports }) => reports.some(({ node }) => node === first));

    world.deleteNode(first);
    world.thawView();
    await world.tell(`node ${first} is gone`);

    const result = await world.rollout().result();
    expect(result).toMatchObject({ updated: 1, machineCount: 1, failed: [], slots: [] });
    expect(world.violations).toEqual([]);
  });

  it('is another node when it comes back under the same name', async () => {
    const world = await temporal.world({ nodes: 2 });
    const first = world.name(1);
    const gate = world.hold('drainNode', first);
    await world.startRollout();
    await gate.reached;

    // No check in between.
    world.deleteNode(first);
    world.join(first, 'c1');
    await world.tell(`node ${first} joined`);
    const result = world.rollout().result();
    expect(await failureOf(world, first)).toBe('NodeDeleted');
    gate.open();

    await expect(result).resolves.toMatchObject({ state: 'Completed', updated: 2 });
    const outcomes = (await result).reports.filter(({ node }) => node === first);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['cancelled', 'updated']);
    expect(world.leftovers()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('does not inherit the failure of the one that had its name', async () => {
    const world = await temporal.world({ nodes: 2 });
    const first = world.name(1);
    world.failWith('applyUpdate', first, 'ApplyFailed', 'disk full', 1);
    const gate = world.hold('drainNode', world.name(2));
    await world.startRollout();
    await gate.reached;
    await world.progressUntil(({ failed }) => failed.length === 1);

    world.deleteNode(first);
    world.join(first, 'c1');
    await world.tell(`node ${first} joined`);
    gate.open();

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 2, failed: [] });
    expect(world.violations).toEqual([]);
  });
});

describe('a node that joins during a rollout', () => {
  it('is updated with one of the slots, and counted once', async () => {
    const world = await temporal.world({ nodes: 4 });
    const late = world.name(4);
    world.deleteNode(late);
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;

    world.join(late, 'c1');
    await world.tell(`node ${late} joined`);
    await world.progressUntil(({ machineCount }) => machineCount === 4);
    gate.open();
    const result = await world.rollout().result();

    expect(result).toMatchObject({ state: 'Completed', updated: 4, machineCount: 4 });
    expect(result.reports.filter(({ node }) => node === late)).toHaveLength(1);
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  });

  it('is not touched when its first boot brought it the config', async () => {
    const world = await temporal.world({ nodes: 3 });
    const late = world.name(3);
    world.deleteNode(late);
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;

    world.join(late, 'c2');
    await world.tell(`node ${late} joined`);
    const joined = await world.progressUntil(({ machineCount }) => machineCount === 3);
    gate.open();
    await world.rollout().result();

    expect(joined.updated).toBe(1);
    expect(world.stepsOf(late)).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});

describe('a node that changes its pool', () => {
  async function twoPools(nodes: number): Promise<{ from: FakeWorld; to: FakeWorld }> {
    const from = await temporal.world({ nodes });
    const to = await temporal.world({ nodes: 1, beside: from, config: 'c1' });
    return { from, to };
  }

  it.each(['prepareUpdate', 'drainNode', 'applyUpdate'])(
    'is rolled back and updated to the config of the other one: %s',
    async (step) => {
      const { from, to } = await twoPools(3);
      const first = from.name(1);
      const gate = from.hold(step, first);
      await from.startRollout();
      await gate.reached;

      from.moveNode(first, to);
      to.config = 'd1';
      await from.tell(`labels of node ${first}`);
      // The next node gets the slot at once, while the first is still being rolled back.
      await from.until(() => from.stepsOf(from.name(2)).includes('cordonNode'));
      await to.startRollout();
      gate.open();
      const [old, fresh] = [await from.rollout().result(), await to.rollout().result()];

      expect(old).toMatchObject({ state: 'Completed', updated: 2, machineCount: 2 });
      expect(fresh).toMatchObject({ state: 'Completed', updated: 2, machineCount: 2 });
      expect(to.annotation(first, ANNOTATION.CURRENT_CONFIG)).toBe('d1');
      expect(to.annotation(first, ANNOTATION.HELD_FOR)).toBeUndefined();
      expect([...from.leftovers(), ...to.leftovers()]).toEqual([]);
      expect([...from.violations, ...to.violations]).toEqual([]);
    },
  );

  it('finishes first when its reboot is under way, with a slot of the other pool', async () => {
    const { from, to } = await twoPools(2);
    const first = from.name(1);
    const gate = from.hold('verifyUpdate', first);
    await from.startRollout();
    await gate.reached;

    from.moveNode(first, to);
    to.config = 'd1';
    await from.tell(`labels of node ${first}`);
    await to.startRollout();
    await to.progressUntil(({ slots }) => slots.includes(first));
    await from.until(() => from.stepsOf(from.name(2)).includes('cordonNode'));
    expect(to.cordoned()).toEqual([first]);
    gate.open();
    const [old, fresh] = [await from.rollout().result(), await to.rollout().result()];

    // Both rollouts received the end of the first update.
    expect(old.reports.map(({ node }) => node).sort()).toEqual([first, from.name(2)]);
    expect(fresh).toMatchObject({ updated: 2, machineCount: 2, failed: [], held: [] });
    expect(to.annotation(first, ANNOTATION.CURRENT_CONFIG)).toBe('d1');
    expect([...from.violations, ...to.violations]).toEqual([]);
    expect([...from.leftovers(), ...to.leftovers()]).toEqual([]);
  });

  it('is not stopped by what the pool that it has left has to say to the update before', async () => {
    const { from, to } = await twoPools(2);
    const first = from.name(1);
    const gate = from.hold('verifyUpdate', first);
    await from.startRollout();
    await gate.reached;
    from.moveNode(first, to);
    to.config = 'd1';

    // The check takes so long that the rollout decides without the end of that update.
    const look = from.hold('selectNodes');
    await from.tell(`labels of node ${first}`);
    await look.reached;
    gate.open();
    await from.update(first).result();
    const next = from.hold('prepareUpdate', first);
    await to.startRollout();
    await next.reached;
    look.open();
    await from.rollout().result();
    next.open();

    await expect(to.rollout().result()).resolves.toMatchObject({
      updated: 2,
      held: [],
      failed: [],
    });
    expect(to.annotation(first, ANNOTATION.CURRENT_CONFIG)).toBe('d1');
    expect(to.annotation(first, ANNOTATION.HELD_FOR)).toBeUndefined();
    expect([...from.violations, ...to.violations]).toEqual([]);
    expect([...from.leftovers(), ...to.leftovers()]).toEqual([]);
  });

  it('is not ended by what its old pool has to say to an update that was lost before', async () => {
    const { from, to } = await twoPools(1);
    const first = from.name(1);
    const lost = from.hold('prepareUpdate', first);
    await from.startRollout();
    await lost.reached;
    // A rollout gets no report from an update that it did not start.
    await from.rollout().terminate('test');
    await from.startRollout();
    // It has answered; before that, it counts as starting.
    await from.progressUntil(({ children }) => children[0]?.runId !== undefined);
    const look = from.hold('selectNodes');
    await from.tell('something has changed');
    await look.reached;
    await from.update(first).terminate('test');
    lost.open();

    from.deleteNode(first);
    to.join(first, 'c1');
    to.config = 'd1';
    const next = from.hold('prepareUpdate', first);
    await to.startRollout();
    await next.reached;
    // Only now it sees that the node is gone, under the ID that both updates have.
    look.open();
    await from.progressUntil(({ children }) => children.length === 0);
    next.open();

    const [, fresh] = [await from.rollout().result(), await to.rollout().result()];
    expect(fresh).toMatchObject({ updated: 2, held: [], failed: [] });
    expect(fresh.reports.map(({ outcome }) => outcome)).toEqual(['updated', 'updated']);
    expect(to.annotation(first, ANNOTATION.CURRENT_CONFIG)).toBe('d1');
    expect([...from.violations, ...to.violations]).toEqual([]);
    expect([...from.leftovers(), ...to.leftovers()]).toEqual([]);
  });

  it('is not taken out of service with a slot of the pool that it has left', async () => {
    const { from, to } = await twoPools(2);
    const first = from.name(1);
    const gate = from.hold('cordonNode', first);
    await from.startRollout();
    await gate.reached;

    // The slot is granted, the cordon not yet written, and the rollout gets no signal.
    from.moveNode(first, to);
    gate.open();
    await from.rollout().result();

    expect(to.cordoned()).toEqual([]);
    expect(to.mostUnavailable).toBe(0);
    expect(to.annotation(first, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
    expect(await failureOf(from, first)).toBe('NodeMoved');
    expect([...from.leftovers(), ...to.leftovers()]).toEqual([]);
  });
});
