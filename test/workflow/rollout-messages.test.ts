import type { WorkflowHandle } from '@temporalio/client';
import { ANNOTATION } from '../../core/names';
import { containing } from './support/containing';
import { startTestTemporal, type TestTemporal } from './support/temporal';
import type { FakeWorld } from './support/fake-world';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

/** A person's hold of a node for the target. */
const HELD = { [ANNOTATION.HELD_FOR]: 'c2', [ANNOTATION.HELD_REASON]: 'skipped: hardware fault' };

/** As a kubelet registers its Node: without a config. */
const JUST_REGISTERED = {
  annotations: {
    [ANNOTATION.CURRENT_CONFIG]: null,
    [ANNOTATION.DESIRED_CONFIG]: null,
    [ANNOTATION.STATE]: null,
  },
  ready: false,
};

async function send(world: FakeWorld, message: string, request?: unknown): Promise<unknown> {
  const handle: WorkflowHandle = world.rollout();
  return handle.executeUpdate<unknown, [unknown]>(message, { args: [request] });
}

async function refusal(world: FakeWorld, message: string, request?: unknown): Promise<string> {
  const error = await send(world, message, request).then(
    () => new Error('was accepted'),
    (thrown: unknown) => thrown as Error,
  );
  expect(error.cause).toMatchObject({ type: 'RefusedRequest' });
  return (error.cause as Error).message;
}

/** For a message that the rollout refuses in its validator, without a trace in the history. */
async function refusalWithoutTrace(
  world: FakeWorld,
  message: string,
  request?: unknown,
): Promise<string> {
  const before = await updatesInHistory(world);
  const sentence = await refusal(world, message, request);
  expect(await updatesInHistory(world)).toBe(before);
  return sentence;
}

/** Number of accepted or completed Temporal updates in the history. */
async function updatesInHistory(world: FakeWorld): Promise<number> {
  const { events } = await world.rollout().fetchHistory();
  return (events ?? []).filter(
    (event) =>
      Boolean(event.workflowExecutionUpdateAcceptedEventAttributes) ||
      Boolean(event.workflowExecutionUpdateCompletedEventAttributes),
  ).length;
}

/** Bytes of the longest summary of a step in the history. */
async function longestSummary(world: FakeWorld): Promise<number> {
  const { events } = await world.rollout().fetchHistory();
  const sizes = (events ?? []).map((event) => event.userMetadata?.summary?.data?.length ?? 0);
  return Math.max(...sizes);
}

describe('pause and resume', () => {
  it('starts no node in between, and writes the pause on the pool', async () => {
    const world = await temporal.world({ nodes: 3 });
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

  it.each([
    ['control characters', '\u0001'.repeat(100), ''],
    ['another script', '护'.repeat(200), '护'.repeat(200)],
    ['half a character and several lines', 'a\n\ud83d', 'a \ufffd'],
  ])('takes a reason with %s, and goes on', async (_what, text, shown) => {
    const world = await temporal.world({ nodes: 1 });
    world.changeNode(world.name(1), { unschedulable: true });
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Blocked');

    await send(world, 'pause', { reason: `freeze ${text}` });
    await world.progressUntil(({ state }) => state === 'Paused');
    expect(await longestSummary(world)).toBeLessThan(400);
    expect(world.pausedReason).toBe(`freeze ${shown}`.trim());
    await expect(send(world, 'resume', {})).resolves.toMatchObject({ state: 'Blocked' });
    await world.rollout().terminate();
  });

  it('heeds a pause that a person wrote on the pool, with any reason', async () => {
    const world = await temporal.world({ nodes: 1 });
    world.paused = true;
    // Six bytes each in the summary of the timer, which may have 400.
    world.pausedReason = '\u0001'.repeat(100);
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Paused');
    expect(await longestSummary(world)).toBeLessThan(400);

    world.paused = false;
    await world.tell('resumed');

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
  });

  it('ends a pause of which the rollout has not seen the reason yet', async () => {
    const world = await temporal.world({ nodes: 1 });
    world.paused = true;
    world.pausedReason = 'change freeze';
    const gate = world.hold('selectNodes');
    await world.startRollout();
    await gate.reached;

    const resumed = send(world, 'resume', {});
    await world.until(() => !world.paused);
    gate.open();

    await expect(resumed).resolves.toBeDefined();
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
  });

  it('is not paused when the pool could not be written', async () => {
    const world = await temporal.world({ nodes: 1 });
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
    const world = await temporal.world({ nodes: 3 });
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

  it.each([
    ['a node of another pool', (stranger: string) => stranger],
    ['a node that there is not', () => 'nobody'],
  ])('refuses to skip %s, also in a pool too large to be known', async (_what, name) => {
    const world = await temporal.world({ nodes: 1 });
    const beside = await temporal.world({ nodes: 1, beside: world });
    for (let index = 2; index <= 56; index += 1) world.addNode(world.name(index));
    for (const node of world.nodeNames()) world.changeNode(node, { unschedulable: true });
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Blocked');

    const node = name(beside.name(1));
    const error = await send(world, 'skipNode', { node }).catch((thrown: unknown) => thrown);

    expect((error as Error).cause).toMatchObject({
      message: containing(`${node} has nothing to skip: it is not a node of pool ${world.pool}`),
    });
    expect(world.annotation(beside.name(1), ANNOTATION.HELD_FOR)).toBeUndefined();
    expect((await world.progress()).held).toEqual([]);
    await world.rollout().terminate();
  });

  it('cancels the update of a node, takes it back and holds it', async () => {
    const world = await temporal.world({ nodes: 2 });
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
    const world = await temporal.world({ nodes: 1 });
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
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'disk full', 1);
    await world.startRollout();
    await world.progressUntil(({ failed }) => failed.length === 1);

    await send(world, 'retryNode', { node });

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, failed: [] });
    expect(world.violations).toEqual([]);
  });
});

describe('retryNode, when not every node is known by name', () => {
  it('waits for the first check of a rollout', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.changeNode(node, { annotations: HELD });
    const gate = world.hold('selectNodes');
    await world.startRollout();
    await gate.reached;

    const retried = send(world, 'retryNode', { node });
    const nobody = send(world, 'retryNode', { node: 'nobody' });
    const refused = expect(nobody).rejects.toMatchObject({
      cause: { type: 'RefusedRequest', message: containing('nobody is neither failed nor held') },
    });
    gate.open();

    await retried;
    await refused;
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1 });
    expect(world.violations).toEqual([]);
  });

  it.each([1, 57])(
    'checks a node of %i that is down and never said what it is on',
    async (count) => {
      const world = await temporal.world({ nodes: 1 });
      const node = world.name(1);
      world.deleteNode(node);
      for (let index = 2; index <= count; index += 1) world.addNode(world.name(index));
      // The last one exceeds the number that a check names.
      world.addNode(node);
      for (const name of world.nodeNames()) world.changeNode(name, JUST_REGISTERED);
      await world.startRollout();
      const isNamed = ({ blocker = '' }) =>
        blocker.includes('nobody knows what its machine is on: `slipway node retry');
      const { blocked } = await world.progressUntil(isNamed);

      await send(world, 'retryNode', { node });
      await world.until(() => world.updatedNodes().includes(node));

      expect(blocked.some((known) => known.node === node)).toBe(count === 1);
      await world.rollout().terminate();
    },
  );

  it('finds those beyond the list, and counts them', async () => {
    const world = await temporal.world({ nodes: 60 });
    for (const node of world.nodeNames()) world.changeNode(node, { annotations: HELD });
    await world.startRollout();
    const { held, heldCount } = await world.progressUntil(({ state }) => state === 'Blocked');
    const unnamed = world.nodeNames().find((node) => held.every((known) => known.node !== node));

    const gate = world.hold('drainNode', unnamed);
    await send(world, 'retryNode', { node: unnamed });
    await gate.reached;

    expect(heldCount).toBe(60);
    expect(world.annotation(unnamed ?? '', ANNOTATION.HELD_FOR)).toBeUndefined();
    expect(await refusal(world, 'retryNode', { node: 'nobody' })).toContain('neither failed');
    await world.rollout().terminate();
  });
});

describe('nonsense is refused with a sentence', () => {
  let world: FakeWorld;
  let gate: ReturnType<FakeWorld['hold']>;

  beforeAll(async () => {
    world = await temporal.world({ nodes: 3 });
    world.addNode(world.name(4), 'c2');
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
    ['pause with a reason that does not show', 'pause', { reason: '\u0007' }, 'say why'],
    ['pause with nothing at all', 'pause', undefined, 'say why'],
    ['resume of what is not paused', 'resume', {}, 'is not paused'],
    ['retryNode without a node', 'retryNode', {}, 'name the node'],
    ['retryNode of an unknown node', 'retryNode', { node: 'nobody' }, 'neither failed nor held'],
    [
      'cancelNode of an unknown node',
      'cancelNode',
      { node: 'nobody' },
      'no running update; skip it (slipway node skip nobody) to',
    ],
    ['skipNode of an unknown node', 'skipNode', { node: 'nobody' }, 'is not a node of pool'],
    ['retarget without a config', 'retarget', {}, 'name the config'],
    ['retarget to nonsense', 'retarget', { config: 'banana' }, 'is not a rendered config of pool'],
    [
      'retarget to a config of another pool',
      'retarget',
      { config: 'rendered-other-0123456789abcdef0123456789abcdef' },
      'is not a rendered config of pool',
    ],
  ])('%s', async (_name, message, request, sentence) => {
    expect(await refusalWithoutTrace(world, message, request)).toContain(sentence);
  });

  it('retryNode of a node under way', async () => {
    const sentence = await refusalWithoutTrace(world, 'retryNode', { node: world.name(1) });

    expect(sentence).toContain('running already');
  });

  it.each([
    ['retryNode', 'is neither failed nor held on c2; no node is'],
    ['skipNode', 'has nothing to skip: it is not a node of pool'],
    ['cancelNode', 'has no running update; skip it (slipway node skip'],
  ])('%s of a node that is on the config already', async (message, sentence) => {
    const node = world.name(4);

    const said = await refusalWithoutTrace(world, message, { node });

    expect(said).toContain(`${node} ${sentence}`);
  });

  it('a second pause, with the reason of the first', async () => {
    await send(world, 'pause', { reason: 'change freeze' });

    const sentence = await refusalWithoutTrace(world, 'pause', { reason: 'again' });

    expect(sentence).toContain('change freeze');

    await send(world, 'resume', {});
  });

  it('a second cancelNode', async () => {
    world.hold('releaseNode', world.name(1));
    await send(world, 'cancelNode', { node: world.name(1) });

    const sentence = await refusalWithoutTrace(world, 'cancelNode', { node: world.name(1) });

    expect(sentence).toContain('being stopped');
  });
});
