/** People who say another thing to a rollout before what was said first is written. */

import type { WorkflowHandle } from '@temporalio/client';
import { containing } from './support/containing';
import type { FakeWorld } from './support/fake-world';
import { startBench, type TestBench } from './support/temporal';

jest.setTimeout(60_000);

let bench: TestBench;
beforeAll(async () => {
  bench = await startBench();
}, 180_000);
afterAll(() => bench.stop(), 60_000);

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

describe('a pause that is being written', () => {
  it('is ended by the resume that comes meanwhile', async () => {
    const world = await bench.world({ nodes: 1 });
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
