import { Worker } from '@temporalio/worker';
import { setTimeout as passing } from 'node:timers/promises';
import { poolRolloutId } from '../../core/names';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { progressQuery, wakeSignal } from '../../workflows/contracts/rollout';
import { workflowBundle } from './support/bundle';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

const NODES = 12;
const STEPS = 40;
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

/** Its steps take a moment, as on a busy machine. */
async function busyRollout(pool: string) {
  temporal.script(pool).answer = async (_, times) => {
    await passing(1 + Math.random() * 8);
    return times < STEPS ? { lookAgainSeconds: 0.02 } : { ended: 'completed' };
  };
  await new RolloutWaker(temporal.client.workflow).wake(pool, {});
  return temporal.client.workflow.getHandle(poolRolloutId(pool));
}

it('a rollout and updates, asked all the time, can go on from their histories', async () => {
  const world = await temporal.world({ nodes: NODES });
  const rollout = await busyRollout('asked');
  let isEnded = false;
  const isOver = (): boolean => isEnded;
  // One that is woken during each step never ends.
  const wakeOften = async (): Promise<void> => {
    for (const { steps } = temporal.script('asked'); steps.length < STEPS - 1;) {
      await rollout.signal(wakeSignal, {});
      await passing(20);
    }
  };
  const all = Promise.all([
    rollout.result(),
    ...world.nodeNames().map((node) => world.run(node)),
  ]).finally(() => {
    isEnded = true;
  });
  const [, , ...answers] = await Promise.all([
    all,
    wakeOften(),
    ...Array.from({ length: ONLOOKERS }, () => lookOn(() => rollout.query(progressQuery), isOver)),
    lookOn(() => world.status(atRandom(world.nodeNames())), isOver),
  ]);

  expect(Math.min(...answers)).toBeGreaterThan(0);
  const handles = [rollout, ...world.nodeNames().map((node) => world.update(node))];
  const code = { workflowBundle: { codePath: await workflowBundle() } };
  for (const handle of handles) {
    await Worker.runReplayHistory(code, await handle.fetchHistory(), handle.workflowId);
  }
  expect(temporal.violations()).toEqual([]);
});
