/**
 * Two cluster workers step at once: both have read the same PoolRollout, and each sees another update prepared. Nobody
 * but these two steps meanwhile.
 */

import { STEP_QUEUE } from '../../core/names';
import { aStory, MINUTE_MS, SECOND_MS, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';
import { Attempt, type Call } from './temporal/attempt';
import type { ActivityPlants } from './world/plants';
import type { ClusterWorker } from './world/cluster-worker';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

const LATE = 'node-001';
const EARLY = 'node-002';

/** A step that nobody waits for. */
function stepOn({ world }: Story, worker: ClusterWorker) {
  const call: Call = {
    ...{ type: 'step', input: { pool: 'worker' }, queue: STEP_QUEUE, isLocal: false },
    ...{ workflowId: 'pool-rollout/worker', runId: 'by-hand', attempt: 1 },
    ...{ scheduledAt: world.clock.now, attemptMs: 60_000 },
  };
  const silent = (): void => undefined;
  const attempt = new Attempt(call, world.clock, silent, silent);
  worker.takes(attempt);
  const state = { attempt, isOver: false, failure: undefined as unknown };
  worker
    .perform(attempt)
    .catch((error: unknown) => {
      state.failure = error;
    })
    .finally(() => {
      state.isOver = true;
    });
  return state;
}

/** Writes of a PoolRollout, and those of them that were refused. */
function countWrites({ world: { cluster } }: Story) {
  const counts = { written: 0, refused: 0 };
  const write = cluster.writeRollout.bind(cluster);
  cluster.writeRollout = (...args) => {
    try {
      const written = write(...args);
      counts.written += 1;
      return written;
    } catch (error) {
      counts.refused += 1;
      throw error;
    }
  };
  return counts;
}

/** `EARLY` is prepared when the first one looks, and both are when the second one does. */
async function overlapped(plants: ActivityPlants = {}) {
  const story = await aStory({
    nodes: 2,
    plants,
    begins: false,
    pool: { policy: { prepareAhead: 2 } },
  });
  const { world } = story;
  const { temporal } = world;
  const [first, second] = world.workers;
  if (first === undefined || second === undefined) throw new Error('there are no two workers');
  const wake = temporal.signalWithStart.bind(temporal);
  temporal.signalWithStart = () => undefined;
  story.host(LATE).setCut(true, false);
  const started = stepOn(story, first);
  await story.until(() => started.isOver);
  await story.until(() => world.waiting().includes(EARLY));
  await story.pass(11 * SECOND_MS);

  // The first one has read the PoolRollout and its picture, and stands still with what it has seen.
  const list = temporal.openUpdatesOf.bind(temporal);
  let hasLooked = false;
  temporal.openUpdatesOf = (pool) => {
    if (!hasLooked) void one.attempt.standStill(60 * SECOND_MS);
    hasLooked = true;
    return list(pool);
  };
  const one = stepOn(story, first);
  await story.until(() => hasLooked);
  story.host(LATE).setCut(false);
  await story.until(() => world.waiting().includes(LATE));
  await story.pass(11 * SECOND_MS);
  const counts = countWrites(story);
  const other = stepOn(story, second);
  await story.until(() => other.isOver);
  const granted = story.grants();
  await story.until(() => one.isOver);
  expect([started, one, other].map(({ failure }) => failure)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  const after = story.grants();

  temporal.signalWithStart = wake;
  world.controllers.begin();
  return { story, counts, granted, after };
}

describe('two cluster workers that step at once', () => {
  it('give one grant: the later write conflicts, and begins again', async () => {
    const { story, counts, granted, after } = await overlapped();

    expect(granted).toEqual([LATE]);
    expect(after).toEqual([LATE]);
    expect(counts.refused).toBe(1);
    await story.toTheEnd();
    expect(story.mostCordoned).toBe(1);
    expect(story.world.granted).toHaveLength(2);
    expect(story.reboots()).toEqual([1, 1]);
  });

  it('give two where a write conflicts with none: planted, and found', async () => {
    const { story, after } = await overlapped({ writesOverOthers: true });
    await story.pass(10 * MINUTE_MS);

    expect(after).toContain(EARLY);
    const found = story.world.invariants.violations.map(({ invariant }) => invariant);
    expect(new Set(found)).toEqual(new Set(['I1']));
  });
});
