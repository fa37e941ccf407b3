/** A person sends a second, different request before the first one is written. */

import type { WorkflowHandle } from '@temporalio/client';
import { ANNOTATION } from '../../core/names';
import { containing } from './support/containing';
import type { FakeWorld } from './support/fake-world';
import { lookTwice } from './support/look-twice';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

async function send(world: FakeWorld, message: string, request: unknown): Promise<unknown> {
  const handle: WorkflowHandle = world.rollout();
  return handle.executeUpdate<unknown, [unknown]>(message, { args: [request] });
}

/** Resolves when the rollout has accepted it; the answer comes later. */
async function said(world: FakeWorld, message: string, request: unknown): Promise<Answered> {
  const handle: WorkflowHandle = world.rollout();
  const update = await handle.startUpdate<unknown, [unknown]>(message, {
    args: [request],
    waitForStage: 'ACCEPTED',
  });
  return { answer: update.result() };
}

interface Answered {
  readonly answer: Promise<unknown>;
}

async function expectRefusal(answer: Promise<unknown>, sentence: string): Promise<void> {
  await expect(answer).rejects.toMatchObject({
    cause: { type: 'RefusedRequest', message: containing(sentence) },
  });
}

async function expectRefused(answer: Promise<unknown>, type: string): Promise<void> {
  await expect(answer).rejects.toMatchObject({ cause: { type } });
}

describe('a pause that is being written', () => {
  it('is ended by the resume that comes meanwhile', async () => {
    const world = await temporal.world({ nodes: 1 });
    world.changeNode(world.name(1), { unschedulable: true });
    await world.startRollout();
    await world.progressUntil(({ state }) => state === 'Blocked');
    const gate = world.hold('setPoolPaused', '');
    const paused = await said(world, 'pause', { reason: 'freeze' });
    await gate.reached;

    const resumed = await said(world, 'resume', {});
    expect((await world.progress()).state).toBe('Blocked');
    await expectRefusal(send(world, 'resume', {}), 'is not paused');
    gate.open();

    await paused.answer;
    await resumed.answer;
    expect(world.paused).toBe(false);
    await expect(send(world, 'pause', { reason: 'freeze again' })).resolves.toMatchObject({
      state: 'Paused',
    });
    await world.rollout().terminate();
  });
});

describe('what is said of a node while something else is being written on it', () => {
  /** A node is held, and its retry or its skip is being written. */
  async function withFailedNode() {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.failWith('applyUpdate', node, 'ApplyFailed', 'disk full', 1);
    await world.startRollout();
    await world.progressUntil(({ failed }) => failed.length === 1);
    return { world, node, gate: world.hold('holdNode', node) };
  }

  it('leaves it out when a skip was last', async () => {
    const { world, node, gate } = await withFailedNode();
    const retried = await said(world, 'retryNode', { node });
    await gate.reached;

    const skipped = await said(world, 'skipNode', { node, reason: 'hardware fault' });
    await expectRefusal(send(world, 'skipNode', { node }), 'is being held already');
    gate.open();

    await retried.answer;
    await skipped.answer;
    await world.progressUntil(({ state }) => state === 'Blocked');
    expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe('c2');
    expect(world.updatedNodes()).toEqual([]);
    await world.rollout().terminate();
  });

  it('tries it when a retry was last', async () => {
    const { world, node, gate } = await withFailedNode();
    const skipped = await said(world, 'skipNode', { node, reason: 'hardware fault' });
    await gate.reached;

    const retried = await said(world, 'retryNode', { node });
    await expectRefusal(send(world, 'retryNode', { node }), 'about to be tried again already');
    gate.open();

    await skipped.answer;
    await retried.answer;
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
    expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  it('tries it when the skip after an answered retry cannot be written', async () => {
    const { world, node, gate } = await withFailedNode();
    gate.open();
    await send(world, 'pause', { reason: 'freeze' });
    await send(world, 'retryNode', { node });
    world.failWith('holdNode', node, 'ApiRefused', 'the API server says no', 1);

    const skipped = send(world, 'skipNode', { node, reason: 'hardware fault' });
    await expect(skipped).rejects.toMatchObject({
      cause: { type: 'ApiRefused', message: containing('hold node') },
    });
    await send(world, 'resume', {});

    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
    expect(world.violations).toEqual([]);
  });

  it('gets the slot of its retry in a halted rollout when the skip after it cannot be written', async () => {
    const policy = { failureThreshold: 1, canaryNodes: 0 };
    const world = await temporal.world({ nodes: 2, maxUnavailable: 2, policy });
    const [node, other] = [world.name(1), world.name(2)];
    const applying = [node, other].map((name) => {
      const gate = world.hold('applyUpdate', name);
      world.failWith('applyUpdate', name, 'ApplyFailed', 'disk full', 1);
      return gate;
    });
    await world.startRollout();
    await Promise.all(applying.map(({ reached }) => reached));
    for (const gate of applying) gate.open();
    await world.progressUntil(({ failed, children }) => failed.length === 2 && !children.length);
    const preparing = world.hold('prepareUpdate', node);
    await send(world, 'retryNode', { node });
    await preparing.reached;
    world.failWith('holdNode', node, 'ApiRefused', 'the API server says no', 1);

    await expectRefused(send(world, 'skipNode', { node }), 'ApiRefused');
    preparing.open();

    await world.progressUntil(({ updated }) => updated === 1);
    expect(world.updatedNodes()).toEqual([node]);
    await world.rollout().terminate();
  });

  it('is checked again at once when a skip cannot be written', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.changeNode(node, { unschedulable: true });
    const gate = world.hold('holdNode', node);
    world.failWith('holdNode', node, 'ApiRefused', 'the API server says no', 1);
    await world.startRollout();
    await world.progressUntil(({ blocked }) => blocked.length === 1);
    const skipped = await said(world, 'skipNode', { node });
    await gate.reached;
    world.changeNode(node, { unschedulable: false });
    await world.tell('it is uncordoned');
    await world.progressUntil(({ blocked }) => blocked.length === 0);
    gate.open();

    await expectRefused(skipped.answer, 'ApiRefused');
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
    expect(world.violations).toEqual([]);
  }, 30_000);

  it('is held as was said in Temporal when the retry after it cannot be written', async () => {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    const draining = world.hold('drainNode', node);
    const holding = world.hold('holdNode', node);
    world.failWith('holdNode', node, 'ApiRefused', 'the API server says no');
    await world.startRollout();
    await draining.reached;
    await world.update(node).cancel();
    await holding.reached;
    const retried = await said(world, 'retryNode', { node });
    holding.open();
    draining.open();

    await expectRefused(retried.answer, 'ApiRefused');
    world.healAll();
    await world.progressUntil(({ state }) => state === 'Blocked');
    await world.until(() => world.annotation(node, ANNOTATION.HELD_FOR) === world.config);
    expect(world.updatedNodes()).toEqual([]);
    await world.rollout().terminate();
  });

  it('is refused with a sentence when the rollout is cancelled meanwhile', async () => {
    const { world, node, gate } = await withFailedNode();
    const retried = await said(world, 'retryNode', { node });
    const refused = expectRefusal(retried.answer, 'release node');
    await gate.reached;
    const skipped = await said(world, 'skipNode', { node });

    const unwritten = expectRefusal(skipped.answer, 'was cancelled before this was written');
    await world.rollout().cancel();

    await refused;
    await unwritten;
    gate.open();
    await expect(world.rollout().result()).rejects.toThrow();
  });

  it('is refused with a sentence also while its node is looked for', async () => {
    const { world, node, gate } = await withFailedNode();
    gate.open();
    const look = world.hold('selectNodes', '');
    const skipped = await said(world, 'skipNode', { node });
    await look.reached;

    const unwritten = expectRefusal(skipped.answer, 'was cancelled before this was written');
    await world.rollout().cancel();

    await unwritten;
    look.open();
    await expect(world.rollout().result()).rejects.toThrow();
  });
});

describe('a node whose retry is being written', () => {
  /** Its retry has removed the hold from its Node; the rollout has no answer yet. */
  async function released(failing: 'applyUpdate' | 'holdNode') {
    const world = await temporal.world({ nodes: 1 });
    const node = world.name(1);
    world.changeNode(node, {
      annotations: { [ANNOTATION.HELD_FOR]: 'c2', [ANNOTATION.HELD_REASON]: 'skipped' },
    });
    await world.startRollout();
    await world.progressUntil(({ held }) => held.length === 1);
    const gate = world.hold('holdNode', node);
    world.failWith(failing, node, 'ApiRefused', 'no space left');
    const retried = await said(world, 'retryNode', { node });
    await gate.reached;
    world.changeNode(node, {
      annotations: { [ANNOTATION.HELD_FOR]: null, [ANNOTATION.HELD_REASON]: null },
    });
    await lookTwice(world);
    return { world, node, gate, retried };
  }

  it('is tried once when that try fails, by the update that was asked for', async () => {
    const { world, node, gate, retried } = await released('applyUpdate');
    const { blocker } = await world.progress();
    gate.open();
    await retried.answer;

    await world.progressUntil(({ failed, children }) => failed.length === 1 && !children.length);
    expect(world.stepsOf(node).filter((step) => step === 'applyUpdate')).toHaveLength(1);
    expect(blocker).toBe('waiting for what people have asked for to be written');
    expect(world.violations).toEqual([]);
    await world.rollout().terminate();
  });

  it('is updated as any other when the retry is refused all the same', async () => {
    const { world, gate, retried } = await released('holdNode');
    gate.open();

    await expectRefused(retried.answer, 'ApiRefused');
    await expect(world.rollout().result()).resolves.toMatchObject({ updated: 1, held: [] });
    expect(world.violations).toEqual([]);
  });
});
