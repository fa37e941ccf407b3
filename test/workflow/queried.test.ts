import { Worker } from '@temporalio/worker';
import { setTimeout as passing } from 'node:timers/promises';
import { progressQuery, statusQuery } from '../../workflows/messages';
import { workflowBundle } from './support/bundle';
import type { FakeWorld } from './support/fake-world';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

const NODES = 24;
/** People who watch a rollout, in terminals and in Temporal's pages. */
const ONLOOKERS = 3;

/** Queries again and again; an update that has not begun, or is long over, has no answer. */
async function lookOn(ask: () => Promise<unknown>, isOver: () => boolean): Promise<number> {
  let answers = 0;
  while (!isOver()) {
    answers += await ask().then(
      () => 1,
      () => passing(5, 0),
    );
  }
  return answers;
}

function atRandom<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}

/** Checks of the pool that take a moment, as on a busy machine. */
async function slowDown(world: FakeWorld, isOver: () => boolean, over: Promise<unknown>) {
  while (!isOver()) {
    const gate = world.hold('selectNodes');
    await Promise.race([gate.reached, over]);
    await passing(1 + Math.random() * 8);
    gate.open();
  }
}

it('a rollout and its updates, asked all the time, can go on from their histories', async () => {
  const world = await temporal.world({ nodes: NODES, maxUnavailable: 4 });
  const rollout = await world.startRollout();
  let isEnded = false;
  const isOver = (): boolean => isEnded;
  const over = rollout.result().finally(() => {
    isEnded = true;
  });
  const [, ...answers] = await Promise.all([
    slowDown(world, isOver, over),
    ...Array.from({ length: ONLOOKERS }, () =>
      lookOn(() => world.rollout().query(progressQuery), isOver),
    ),
    lookOn(() => world.update(atRandom(world.nodeNames())).query(statusQuery), isOver),
    over,
  ]);

  const asked = answers.filter((answer) => typeof answer === 'number');
  expect(Math.min(...asked)).toBeGreaterThan(0);
  const handles = [rollout, ...world.nodeNames().map((node) => world.update(node))];
  const code = { workflowBundle: { codePath: await workflowBundle() } };
  for (const handle of handles) {
    await Worker.runReplayHistory(code, await handle.fetchHistory(), handle.workflowId);
  }
});
