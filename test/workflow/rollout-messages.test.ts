import type { WorkflowHandle } from '@temporalio/client';
import { ANNOTATION } from '../../core/names';
import { containing } from './support/containing';
import { startBench, type TestBench } from './support/temporal';
import type { FakeWorld } from './support/fake-world';

jest.setTimeout(60_000);

let bench: TestBench;
beforeAll(async () => {
  bench = await startBench();
}, 180_000);
afterAll(() => bench.stop(), 60_000);

async function send(world: FakeWorld, message: string, request?: unknown): Promise<unknown> {
  const handle: WorkflowHandle = world.rollout();
  return handle.executeUpdate<unknown, [unknown]>(message, { args: [request] });
}

/** The sentence with which a message is refused. */
async function refusal(world: FakeWorld, message: string, request?: unknown): Promise<string> {
  const error = await send(world, message, request).then(
    () => new Error('was accepted'),
    (thrown: unknown) => thrown as Error,
  );
  expect(error.cause).toMatchObject({ type: 'RefusedRequest' });
  return (error.cause as Error).message;
}

describe('pause and resume', () => {
  it('starts no node in between, and writes the pause on the pool', async () => {
    const world = await bench.world({ nodes: 3 });
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;

    await expect(
      send(world, 'pause', { reason: 'change freeze', by: 'ann' }),
    ).resolves.toMatchObject({
      state: 'Paused',
      blocker: containing('change freeze (ann)'),
    });
    gate.open();
    await world.progressUntil(({ updated }) => updated === 1);

    expect(world.paused).toBe(true);
    expect(world.pausedReason).toBe('change freeze (ann)');
    expect(await world.progress()).toMatchObject({ state: 'Paused', slots: [] });
    expect(world.cordoned()).toEqual([]);
    await expect(send(world, 'resume', {})).resolves.toMatchObject({ state: 'Rolling' });
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 3 });
    expect(world.paused).toBe(false);
    expect(world.violations).toEqual([]);
  });

  it('heeds a pause that somebody wrote on the pool', async () => {
    const world = await bench.world({ nodes: 1 });
    world.paused = true;
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Paused');

    world.paused = false;
    await world.tell('resumed');

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
  });

  it('is not paused when the pool could not be written', async () => {
    const world = await bench.world({ nodes: 1 });
    world.changeNode(world.name(1), { unschedulable: true });
    world.failWith('setPoolPaused', '', 'ObjectNotFound', 'no such pool');
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Blocked');

    await expect(send(world, 'pause', { reason: 'freeze' })).rejects.toMatchObject({
      cause: { type: 'ObjectNotFound', message: containing('no such pool') },
    });
    expect((await world.progress()).state).toBe('Blocked');
    await world.rollout().terminate();
  });
});

describe('messages about one node', () => {
  it('skips a node that has not started, until it is retried', async () => {
    const world = await bench.world({ nodes: 3 });
    const last = world.name(3);
    const gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;

    await send(world, 'skipNode', { node: last, reason: 'hardware fault' });
    gate.open();
    const { held, state } = await world.progressUntil(
      ({ updated, children }) => updated === 2 && children.length === 0,
    );

    expect(state).toBe('Blocked');
    expect(held).toEqual([{ node: last, reason: 'skipped: hardware fault' }]);
    expect(world.annotation(last, ANNOTATION.HELD_FOR)).toBe('c2');
    expect(world.stepsOf(last)).toEqual(['holdNode']);
    await send(world, 'retryNode', { node: last });
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 3, held: [] });
    expect(world.annotation(last, ANNOTATION.HELD_FOR)).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  it('cancels the update of a node, takes it back and holds it', async () => {
    const world = await bench.world({ nodes: 2 });
    const node = world.name(1);
    const gate = world.hold('drainNode', node);
    await world.startRollout();
    await gate.reached;

    await send(world, 'cancelNode', { node, reason: 'wrong window' });
    const { held } = await world.progressUntil(
      ({ updated, children }) => updated === 1 && children.length === 0,
    );

    expect(held).toEqual([{ node, reason: 'cancelled: wrong window' }]);
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
    expect(world.leftovers()).toEqual([]);
    gate.open();
    await send(world, 'retryNode', { node });
    await world.rollout().result();
    expect(world.violations).toEqual([]);
  });

  it('skips a node under way like cancelNode', async () => {
    const world = await bench.world({ nodes: 1 });
    const node = world.name(1);
    const gate = world.hold('applyUpdate', node);
    await world.startRollout();
    await gate.reached;

    await send(world, 'skipNode', { node });
    const { held } = await world.progressUntil(({ children }) => children.length === 0);

    expect(held).toEqual([{ node, reason: 'skipped: no reason given' }]);
    expect(world.leftovers()).toEqual([]);
    gate.open();
    await world.rollout().terminate();
  });

  it('retries a failed node at once', async () => {
    const world = await bench.world({ nodes: 1 });
    const node = world.name(1);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'disk full', 1);
    await world.startRollout();
    await world.progressUntil(({ failed }) => failed.length === 1);

    await send(world, 'retryNode', { node });

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, failed: [] });
    expect(world.violations).toEqual([]);
  });
});

describe('nonsense is refused with a sentence', () => {
  let world: FakeWorld;
  let gate: ReturnType<FakeWorld['hold']>;

  beforeAll(async () => {
    world = await bench.world({ nodes: 3 });
    gate = world.hold('drainNode', world.name(1));
    await world.startRollout();
    await gate.reached;
  });

  afterAll(async () => {
    await world.rollout().terminate();
    await world.update(world.name(1)).terminate();
  });

  it.each([
    ['pause without a reason', 'pause', { reason: ' ' }, 'say why'],
    ['pause with nothing at all', 'pause', undefined, 'say why'],
    ['resume of what is not paused', 'resume', {}, 'is not paused'],
    ['retryNode without a node', 'retryNode', {}, 'name the node'],
    ['retryNode of an unknown node', 'retryNode', { node: 'nobody' }, 'neither failed nor held'],
    ['cancelNode of an unknown node', 'cancelNode', { node: 'nobody' }, 'has no running update'],
    ['skipNode of an unknown node', 'skipNode', { node: 'nobody' }, 'is not a node of pool'],
    ['retarget without a config', 'retarget', {}, 'name the config'],
  ])('%s', async (_name, message, request, sentence) => {
    expect(await refusal(world, message, request)).toContain(sentence);
  });

  it('retryNode of a node under way', async () => {
    expect(await refusal(world, 'retryNode', { node: world.name(1) })).toContain('running already');
  });

  it('a second pause, with the reason of the first', async () => {
    await send(world, 'pause', { reason: 'change freeze' });

    expect(await refusal(world, 'pause', { reason: 'again' })).toContain('change freeze');

    await send(world, 'resume', {});
  });

  it('a second cancelNode', async () => {
    world.hold('releaseNode', world.name(1));
    await send(world, 'cancelNode', { node: world.name(1) });

    expect(await refusal(world, 'cancelNode', { node: world.name(1) })).toContain('being stopped');
  });

  it('without writing anything to the history', async () => {
    const before = (await world.rollout().describe()).historyLength;

    await refusal(world, 'retryNode', { node: 'nobody' });

    const { events } = await world.rollout().fetchHistory();
    const rejected = events?.filter(
      (event) => event.workflowExecutionUpdateRejectedEventAttributes !== null,
    );
    expect(before).toBeGreaterThan(0);
    expect(rejected).toEqual([]);
  });
});
